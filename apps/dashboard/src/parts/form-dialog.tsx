import { Box, Button, Group, Stack } from '@mantine/core';
import { useEffect, useRef, useState, type FormEvent, type ReactNode } from 'react';
import { BusyButton } from './busy.tsx';
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
  /** Whether a field alone says what is wrong. */
  readonly isToldAtField?: (error: Error) => boolean;
  /** What the error kept from happening. */
  readonly doing: string;
  /** The fields are checked by the form's own rules, not by the browser's. */
  readonly ownRules?: boolean;
  readonly onSubmit: (event: FormEvent<HTMLFormElement>) => void;
  readonly onClose: () => void;
}

/**
 * Fields in a dialog; stays open when saving fails, with the focus on what is wrong. Once something was entered, a press of
 * Escape or outside does not throw it away.
 */
export function FormDialog(props: FormDialogProps) {
  const { title, wide = false, children, action, busy, error, doing, ownRules = false, onSubmit, onClose } = props;
  const { isToldAtField = () => false } = props;
  const form = useRef<HTMLFormElement>(null);
  const trouble = useRef<HTMLDivElement>(null);
  const [isTouched, setTouched] = useState(false);
  // What is wrong is read out where the form begins.
  useEffect(() => {
    if (error !== null && !focusInvalid(form.current)) trouble.current?.focus();
  }, [error]);
  return (
    <Dialog
      opened
      onClose={onClose}
      title={title}
      closeOnClickOutside={!isTouched}
      closeOnEscape={!isTouched}
      {...(wide ? { size: 'lg' } : {})}
    >
      <form
        ref={form}
        noValidate={ownRules}
        onInput={() => setTouched(true)}
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit(event);
          // Once the form's own rules have marked the fields.
          requestAnimationFrame(() => focusInvalid(form.current));
        }}
      >
        <Stack>
          {error !== null && !isToldAtField(error) && (
            <Box ref={trouble} tabIndex={-1}>
              <Trouble error={error} doing={doing} />
            </Box>
          )}
          {children}
          <Group justify="flex-end" className="form-dialog-actions">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <BusyButton type="submit" busy={busy}>
              {action}
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

/** Whether there is a field to correct that can be seen; it has the focus then. */
function focusInvalid(form: HTMLFormElement | null): boolean {
  const fields = [...(form?.querySelectorAll<HTMLElement>('[aria-invalid="true"]') ?? [])];
  const first = fields.find((field) => field.getClientRects().length > 0);
  first?.focus();
  return first !== undefined;
}
