import { Alert, Button, Code, Group, SimpleGrid } from '@mantine/core';
import { IconAlertTriangle, IconDownload } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { CopyTextButton } from '../../parts/copy.tsx';

interface RecoveryCodesProps {
  readonly codes: readonly string[];
  readonly onClose: () => void;
}

/** The only moment in which recovery codes are on a screen. */
export function RecoveryCodes({ codes, onClose }: RecoveryCodesProps) {
  const text = codes.join('\n');
  const file = useFile(`Darkroom recovery codes. Each works once.\n\n${text}\n`);
  return (
    <>
      <Alert
        color="safelight"
        variant="light"
        icon={<IconAlertTriangle size={18} />}
        title="Save your recovery codes"
        role="status"
      >
        Each one signs you in once if you lose your authenticator app. You won’t see them again.
      </Alert>
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
    </>
  );
}

/** The address of a text file that exists on this page alone. */
function useFile(text: string): string {
  const [url] = useState(() => URL.createObjectURL(new Blob([text], { type: 'text/plain' })));
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  return url;
}
