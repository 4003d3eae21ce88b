import { Button, Group, Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { Dialog } from './dialog.tsx';
import { Trouble } from './page.tsx';

interface FormDialogProps {
  readonly title: string;
  /** Wider, for many fields. */
  readonly wide?: boolean;
  readonly children: ReactNode;
  /** What the button says. */
  readonly action: string;
  readonly busy: boolean;
  readonly error: Error | null;
  /** What the error kept from happening. */
  readonly doing: string;
  /** The fields are checked by the form's own rules, not by the browser's. */
  readonly ownRules?: boolean;
  readonly onSubmit: (event: FormEvent<HTMLFormElement>) => void;
  readonly onClose: () => void;
}

/** Fields in a dialog; stays open with the reason when saving fails. */
export function FormDialog(props: FormDialogProps) {
  const { title, wide = false, children, action, busy, error, doing, ownRules = false, onSubmit, onClose } = props;
  return (
    <Dialog opened onClose={onClose} title={title} {...(wide ? { size: 'lg' } : {})}>
      <form
        noValidate={ownRules}
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit(event);
        }}
      >
        <Stack>
          {error !== null && <Trouble error={error} doing={doing} />}
          {children}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={busy}>
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
