import { Box, Button, Group, Stack } from '@mantine/core';
import { useEffect, useRef, useState, type FormEvent, type ReactNode } from 'react';
import { BusyButton } from './busy.tsx';
import { Dialog } from './dialog.tsx';
import { Trouble } from './page.tsx';
import type { Save } from './use-save.ts';

interface FormDialogProps {
  readonly title: string;
  /** Wider, for many fields. */
  readonly wide?: boolean;
  readonly children: ReactNode;
  /** Label of the submit button. */
  readonly action: string;
  readonly save: Pick<Save, 'isPending' | 'error'>;
  /** Whether a field already shows the error. */
  readonly isToldAtField?: (error: Error) => boolean;
  /** What failed, for the error message. */
  readonly doing: string;
  /** The form's own rules validate the fields, not the browser. */
  readonly ownRules?: boolean;
  readonly onSubmit: (event: FormEvent<HTMLFormElement>) => void;
  readonly onClose: () => void;
}

/**
 * A form in a dialog; stays open with the focus on the error when saving fails. After the first input, a click outside
 * does not close it, and Escape asks first.
 */
export function FormDialog(props: FormDialogProps) {
  const { title, wide = false, children, action, doing, ownRules = false, onSubmit, onClose } = props;
  const { isToldAtField = () => false } = props;
  const { isPending, error } = props.save;
  const form = useRef<HTMLFormElement>(null);
  const trouble = useRef<HTMLDivElement>(null);
  const [isTouched, setTouched] = useState(false);
  // The focus moves to the error at the top of the form, so that it is read out.
  useEffect(() => {
    if (error !== null && !focusInvalid(form.current)) trouble.current?.focus();
  }, [error]);
  return (
    <Dialog
      opened
      onClose={onClose}
      title={title}
      closeOnClickOutside={!isTouched}
      unsaved={isTouched}
      {...(wide ? { size: 'lg' } : {})}
    >
      <form
        ref={form}
        noValidate={ownRules}
        onInput={() => setTouched(true)}
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit(event);
          // After the form's rules have marked the fields.
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
            <BusyButton type="submit" busy={isPending}>
              {action}
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

/** Focuses the first visible invalid field; false if there is none. */
function focusInvalid(form: HTMLFormElement | null): boolean {
  const fields = [...(form?.querySelectorAll<HTMLElement>('[aria-invalid="true"]') ?? [])];
  const first = fields.find((field) => field.getClientRects().length > 0);
  first?.focus();
  return first !== undefined;
}
