import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import type { NewKey } from '../api/types.ts';
import { CodeTabs, ShownOnce } from '../parts/copy.tsx';
import { EXAMPLE, snippetsOf } from '../parts/snippets.ts';

/** The only moment in which the secret is on a screen: closes by its button alone, never by a stray click. */
export function KeySecret({ made, onClose }: { readonly made: NewKey; readonly onClose: () => void }) {
  return (
    <Modal
      opened
      onClose={onClose}
      title="Your new key"
      size="lg"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        <Text size="sm">
          Copy the secret of <b>{made.key.name}</b> now. It is shown this once only: Darkroom keeps nothing it could be
          read from.
        </Text>
        <ShownOnce text={made.secret} testId="secret" />
        <Text size="sm" fw={600} mt="xs">
          Try it
        </Text>
        <CodeTabs codes={snippetsOf(EXAMPLE, made.secret)} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            I have copied it
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
