import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconMail } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { signInQuery } from '../api/queries.ts';
import type { OneTimeLink } from '../api/team-types.ts';
import { ShownOnce } from './copy.tsx';
import { Dialog } from './dialog.tsx';

interface LinkShownProps {
  readonly title: string;
  /** Its recipient and purpose. */
  readonly children: ReactNode;
  readonly newLink: OneTimeLink;
  readonly onClose: () => void;
}

/** The link is shown only once, so a click outside does not close this dialog. */
export function LinkShown({ title, children, newLink, onClose }: LinkShownProps) {
  return (
    <Dialog
      opened
      onClose={onClose}
      title={title}
      size="lg"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        {newLink.emailed === true && (
          <Alert color="green" variant="light" icon={<IconMail size={18} />} role="status">
            The link was emailed. Send it yourself only if the email doesn’t arrive.
          </Alert>
        )}
        {newLink.emailed === false && (
          <Alert
            color="red"
            variant="light"
            icon={<IconAlertTriangle size={18} />}
            title="The email could not be sent"
            role="alert"
          >
            Send the link yourself. An operator finds the reason in the log.
          </Alert>
        )}
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {children}
        </Text>
        <ShownOnce text={newLink.link} testId="link" />
        {isLocal(newLink.link) && (
          <Text size="sm">
            This link works on this machine only: set <Code>PUBLIC_URL</Code> to an address others can reach.
          </Text>
        )}
        <Text size="sm" c="dimmed">
          The link works once and expires in {newLink.hours} hours. Anyone who has it can use it. This link is shown
          only once.
        </Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Done
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

/** Whether a URL works only on the machine that opens it. */
export function isLocal(link: string): boolean {
  const { hostname } = new URL(link);
  return /^(localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\])$/.test(hostname) || hostname.endsWith('.localhost');
}

/** How users receive the link that a form creates. */
export function useLinkDelivery(): string {
  const { data } = useQuery(signInQuery);
  return data?.email === true ? 'They get a link by email' : 'You get a link to share';
}
