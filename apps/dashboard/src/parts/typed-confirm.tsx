import { Stack, TextInput } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { Confirm } from './confirm.tsx';
import type { Save } from './use-save.ts';

interface TypedConfirmProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly action: string;
  /** The text to type. */
  readonly name: string;
  readonly save: Save;
  readonly onClose: () => void;
}

/** Confirms an irreversible action: the user types the name of what is deleted. */
export function TypedConfirm({ children, name, ...props }: TypedConfirmProps) {
  const [typed, setTyped] = useState('');
  return (
    <Confirm opened disabled={typed.trim() !== name.trim()} {...props}>
      <Stack gap="sm">
        {children}
        <TextInput
          label="Type the name to confirm"
          description={name}
          autoComplete="off"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      </Stack>
    </Confirm>
  );
}
