import { ActionIcon, Box, Button, CopyButton, Tabs, Tooltip } from '@mantine/core';
import { CheckIcon, CopyIcon } from './icons.tsx';

interface CopyProps {
  readonly value: string;
  readonly label: string;
}

export function CopyIconButton({ value, label }: CopyProps) {
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : label}>
          <ActionIcon variant="subtle" color={copied ? 'green' : 'gray'} aria-label={label} onClick={copy}>
            {copied ? <CheckIcon size={16} /> : <CopyIcon size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

export function CopyTextButton({ value, label }: CopyProps) {
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Button
          variant={copied ? 'light' : 'filled'}
          leftSection={copied ? <CheckIcon size={16} /> : <CopyIcon size={16} />}
          onClick={copy}
        >
          {copied ? 'Copied' : label}
        </Button>
      )}
    </CopyButton>
  );
}

/** One request in several languages, as tabs, each ready to be copied. */
export function CodeTabs({ codes }: { readonly codes: Readonly<Record<string, string>> }) {
  const names = Object.keys(codes);
  return (
    <Tabs defaultValue={names[0] ?? null} variant="pills" radius="md">
      <Tabs.List mb="xs" aria-label="Language">
        {names.map((name) => (
          <Tabs.Tab key={name} value={name} size="xs">
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {Object.entries(codes).map(([name, code]) => (
        <Tabs.Panel key={name} value={name}>
          <Box pos="relative">
            <pre className="code" tabIndex={0} aria-label={`${name} example`}>
              {code}
            </pre>
            <Box pos="absolute" top={6} right={8} bg="var(--page)" bdrs="md">
              <CopyIconButton value={code} label={`Copy the ${name} example`} />
            </Box>
          </Box>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
