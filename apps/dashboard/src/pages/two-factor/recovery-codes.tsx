import { Button, Code, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { CopyTextButton } from '../../parts/copy.tsx';
import { Dialog } from '../../parts/dialog.tsx';

interface RecoveryCodesProps {
  readonly codes: readonly string[];
  readonly onClose: () => void;
}

/** The codes are shown only once, so a click outside does not close this dialog. */
export function RecoveryCodes({ codes, onClose }: RecoveryCodesProps) {
  const text = codes.join('\n');
  const file = useFile(`Darkroom recovery codes. Each works once.\n\n${text}\n`);
  return (
    <Dialog
      opened
      onClose={onClose}
      title="Save your recovery codes"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        <Text size="sm">Each one signs you in once if you lose your authenticator app. You won’t see them again.</Text>
        <SimpleGrid cols={2} spacing="xs" data-testid="recovery-codes">
          {codes.map((code) => (
            <Code key={code} block fz="xs" px={6} py="xs" ta="center" style={{ whiteSpace: 'normal' }}>
              {code}
            </Code>
          ))}
        </SimpleGrid>
        <Group>
          <CopyTextButton value={text} label="Copy" />
          <Button
            component="a"
            href={file}
            download="darkroom-recovery-codes.txt"
            variant="default"
            leftSection={<IconDownload size={16} />}
          >
            Download
          </Button>
          <Button variant="default" onClick={onClose}>
            I’ve saved them
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

/** The object URL of a text file, valid on this page only. */
function useFile(text: string): string {
  const [url] = useState(() => URL.createObjectURL(new Blob([text], { type: 'text/plain' })));
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  return url;
}
