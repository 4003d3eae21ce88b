import { ActionIcon, Box, Button, Code, Group, Tabs, Tooltip } from '@mantine/core';
import { useState } from 'react';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useCopy } from './copy-text.ts';

interface CopyProps {
  readonly value: string;
  readonly label: string;
}

export function CopyIconButton({ value, label }: CopyProps) {
  const { copied, copy } = useCopy(value);
  return (
    <Tooltip label={copied ? 'Copied' : label}>
      <ActionIcon variant="subtle" color={copied ? 'green' : 'gray'} aria-label={label} onClick={copy}>
        {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
      </ActionIcon>
    </Tooltip>
  );
}

export function CopyTextButton({ value, label }: CopyProps) {
  const { copied, copy } = useCopy(value);
  return (
    <Button
      variant={copied ? 'light' : 'filled'}
      leftSection={copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
      onClick={copy}
    >
      {copied ? 'Copied' : label}
    </Button>
  );
}

interface ShownOnceProps {
  readonly text: string;
  readonly testId: string;
}

/** A secret with a copy button. */
export function ShownOnce({ text, testId }: ShownOnceProps) {
  return (
    <Group gap="sm" align="stretch">
      <Code
        block
        flex={1}
        miw={240}
        fz="sm"
        data-testid={testId}
        style={{ overflowWrap: 'anywhere', whiteSpace: 'normal' }}
      >
        {text}
      </Code>
      <CopyTextButton value={text} label="Copy" />
    </Group>
  );
}

interface CodeBlockProps {
  readonly code: string;
  readonly label: string;
}

/** A code block with a copy button. */
export function CodeBlock({ code, label }: CodeBlockProps) {
  return (
    <Box pos="relative">
      <pre className="code" tabIndex={0} aria-label={label}>
        {code}
      </pre>
      <Box pos="absolute" top={4} right={4}>
        <CopyIconButton value={code} label={`Copy ${label}`} />
      </Box>
    </Box>
  );
}

/** One request in several languages, in tabs, each with a copy button. */
export function CodeTabs({ codes }: { readonly codes: Readonly<Record<string, string>> }) {
  const names = Object.keys(codes);
  const [shown, setShown] = useState(names[0] ?? '');
  return (
    <Tabs value={shown} onChange={(name) => setShown(name ?? shown)} variant="pills">
      <Group justify="space-between" mb="xs" wrap="nowrap">
        <Tabs.List aria-label="Language">
          {names.map((name) => (
            <Tabs.Tab key={name} value={name} px="sm" py={6}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <CopyIconButton value={codes[shown] ?? ''} label={`Copy ${shown} example`} />
      </Group>
      {Object.entries(codes).map(([name, code]) => (
        <Tabs.Panel key={name} value={name}>
          <pre className="code" tabIndex={0} aria-label={`${name} example`}>
            {code}
          </pre>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
