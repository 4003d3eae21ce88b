import { Button, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { BusyButton } from './busy.tsx';
import { Dialog } from './dialog.tsx';
import { Trouble } from './page.tsx';

interface ConfirmProps {
  readonly opened: boolean;
  readonly title: string;
  readonly children: ReactNode;
  readonly action: string;
  /** Label of the cancel button. */
  readonly keep?: string;
  /** The action is not destructive. */
  readonly harmless?: boolean;
  /** Required input is missing. */
  readonly disabled?: boolean;
  readonly busy: boolean;
  readonly error: Error | null;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Confirms a destructive action; stays open with the error when it fails. */
export function Confirm(props: ConfirmProps) {
  const { opened, title, children, action, keep = 'Cancel', harmless = false, disabled = false } = props;
  const { busy, error, onConfirm, onClose } = props;
  return (
    <Dialog opened={opened} onClose={onClose} title={title}>
      <Stack>
        <Text size="sm" component="div">
          {children}
        </Text>
        {error !== null && <Trouble error={error} doing="Something went wrong" />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            {keep}
          </Button>
          <BusyButton {...(harmless ? {} : { color: 'red.8' })} busy={busy} disabled={disabled} onClick={onConfirm}>
            {action}
          </BusyButton>
        </Group>
      </Stack>
    </Dialog>
  );
}
