import { Button, Group, Stack, Table, Text } from '@mantine/core';
import { CopyIconButton, CopyTextButton } from '../../parts/copy.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { HiddenHead } from '../../parts/hidden-head.tsx';
import { isLocal } from '../../parts/one-time-link.tsx';
import type { Invited } from './invite-form.tsx';

interface InvitedDialogProps {
  readonly outcomes: readonly Invited[];
  readonly onClose: () => void;
}

/** What became of each address. The links are shown only once, so a click outside does not close it. */
export function InvitedDialog({ outcomes, onClose }: InvitedDialogProps) {
  const links = outcomes.flatMap(({ email, newLink }) => (newLink === null ? [] : [{ email, ...newLink }]));
  const [first] = links;
  return (
    <Dialog
      opened
      onClose={onClose}
      title="Invitations"
      size="lg"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        <Text size="sm" role="status">
          {links.length} of {outcomes.length} invitations created.
        </Text>
        <Table verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th w="45%">Email</Table.Th>
              <Table.Th>Outcome</Table.Th>
              <HiddenHead w={44}>Link</HiddenHead>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {outcomes.map((outcome) => (
              <Table.Tr key={outcome.email}>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>{outcome.email}</Table.Td>
                <Table.Td {...(outcome.newLink === null && { c: 'var(--mantine-color-error)' })}>
                  {outcome.newLink === null ? outcome.reason : told(outcome.newLink.emailed)}
                </Table.Td>
                <Table.Td>
                  {outcome.newLink !== null && (
                    <CopyIconButton value={outcome.newLink.link} label={`Copy the link for ${outcome.email}`} />
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        {first !== undefined && (
          <Text size="sm" c="dimmed">
            {isLocal(first.link) &&
              'These links work on this machine only: set PUBLIC_URL to an address others can reach. '}
            Each link works once and expires in {first.hours} hours. Anyone who has it can use it. The links are shown
            only once.
          </Text>
        )}
        <Group justify="flex-end">
          {links.length > 0 && (
            <CopyTextButton
              value={links.map(({ email, link }) => `${email}\t${link}`).join('\n')}
              label="Copy all links"
            />
          )}
          <Button variant="default" onClick={onClose}>
            Done
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

function told(emailed: boolean | null): string {
  if (emailed === null) return 'Send them their link';
  return emailed ? 'Link emailed' : 'The email could not be sent; send them their link';
}
