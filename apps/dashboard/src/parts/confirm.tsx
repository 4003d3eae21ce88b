import { Button, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { BusyButton } from './busy.tsx';
import { Dialog } from './dialog.tsx';
import { Trouble } from './page.tsx';
import type { Save } from './use-save.ts';

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
  /** The action. */
  readonly save: Save;
  readonly onClose: () => void;
}

/** Confirms a destructive action; stays open with the error when it fails. */
export function Confirm(props: ConfirmProps) {
  const { opened, title, children, action, keep = 'Cancel', harmless = false, disabled = false } = props;
  const { save, onClose } = props;
  return (
    <Dialog opened={opened} onClose={onClose} title={title}>
      <Stack>
        <Text size="sm" component="div">
          {children}
        </Text>
        {save.error !== null && <Trouble error={save.error} doing="Something went wrong" />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            {keep}
          </Button>
          <BusyButton
            {...(harmless ? {} : { color: 'red.8' })}
            busy={save.isPending}
            disabled={disabled}
            onClick={() => save.mutate()}
          >
            {action}
          </BusyButton>
        </Group>
      </Stack>
    </Dialog>
  );
}
