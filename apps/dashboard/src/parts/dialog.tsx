import { Button, Group, Modal, Stack, Text, type ModalProps } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';

/** Number of open dialogs; one may open while another closes. */
let shown = 0;
/** The element that was focused before the first of them opened. */
let opener: HTMLElement | null = null;

/** Whether keys of the page belong to a dialog for now. */
export function isDialogOpen(): boolean {
  return shown > 0;
}

interface DialogProps extends ModalProps {
  /** Closing it with Escape or the X would lose input, so it asks first. Buttons of its own don't ask. */
  readonly unsaved?: boolean;
}

/**
 * A modal that returns the focus to its opener, or to the main content if the opener is gone, so that the focus is
 * never lost.
 */
export function Dialog({ unsaved = false, children, ...props }: DialogProps) {
  const { opened, onClose } = props;
  const [wasOpened, setWasOpened] = useState(false);
  const [isLeaving, setLeaving] = useState(false);
  const left = useRef<Element | null>(null);
  // During render, because the opener may be removed in this very update.
  if (opened !== wasOpened) {
    setWasOpened(opened);
    setLeaving(false);
    if (opened) opener = focused() ?? opener;
  }
  useEffect(() => {
    if (!opened) return;
    shown++;
    document.addEventListener('keydown', keepPageInput);
    return () => {
      shown--;
      document.removeEventListener('keydown', keepPageInput);
      // Everything else that takes the focus on closing comes first.
      setTimeout(returnFocus, 20);
    };
  }, [opened]);
  const leave = () => {
    if (!unsaved) {
      onClose();
      return;
    }
    left.current = document.activeElement;
    setLeaving(true);
  };
  const stay = () => {
    setLeaving(false);
    // After the question is gone, which has the focus.
    setTimeout(() => {
      if (left.current instanceof HTMLElement) left.current.focus({ preventScroll: true });
    }, 20);
  };
  return (
    <>
      <Modal {...props} {...(isLeaving ? { closeOnEscape: false } : {})} onClose={leave} returnFocus={false}>
        {children}
        <FirstFocus />
      </Modal>
      {/* Mounted only then: otherwise it would close with the same Escape that opens it. */}
      {opened && isLeaving && <Discard onStay={stay} onDiscard={onClose} />}
    </>
  );
}

/** Gives the focus to the first control of a dialog that names none; the first one of all is the X. */
function FirstFocus() {
  const end = useRef<HTMLSpanElement>(null);
  // Before the dialog's focus trap looks for it.
  useEffect(() => {
    const body = end.current?.parentElement;
    if (!body || body.querySelector('[data-autofocus]') !== null) return;
    const first = body.querySelector('input:not(:disabled), textarea:not(:disabled), button:not(:disabled), a[href]');
    const chosen = first?.matches('[type="radio"]') === true ? body.querySelector('[type="radio"]:checked') : null;
    (chosen ?? first)?.setAttribute('data-autofocus', '');
  }, []);
  return <span ref={end} hidden />;
}

interface DiscardProps {
  readonly onStay: () => void;
  readonly onDiscard: () => void;
}

function Discard({ onStay, onDiscard }: DiscardProps) {
  return (
    <Modal opened onClose={onStay} title="Discard your changes?" returnFocus={false} size="sm">
      <Stack>
        <Text size="sm">They are not saved yet.</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={onStay} data-autofocus>
            Keep editing
          </Button>
          <Button color="red.8" onClick={onDiscard}>
            Discard changes
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** Outside of text fields, browsers undo the latest input of the whole page, which is behind the dialog. */
function keepPageInput(event: KeyboardEvent): void {
  const isUndo = (event.ctrlKey || event.metaKey) && ['z', 'y'].includes(event.key.toLowerCase());
  const isField = event.target instanceof Element && event.target.matches('input, textarea');
  if (isUndo && !isField) event.preventDefault();
}

/** The control in use; for a menu its button, because the menu closes; null within a dialog. */
function focused(): HTMLElement | null {
  const active = document.activeElement;
  if (active === null || active === document.body || active.closest('[role="dialog"]') !== null) return null;
  const menuButton = active.closest('[role="menu"]')?.getAttribute('aria-labelledby') ?? null;
  const control = menuButton === null ? active : document.getElementById(menuButton);
  return control instanceof HTMLElement ? control : null;
}

function returnFocus(): void {
  const active = document.activeElement;
  const isLost = active === null || active === document.body || active.closest('[role="dialog"]') !== null;
  if (shown > 0 || !isLost) return;
  const target = opener?.isConnected === true ? opener : document.getElementById('main');
  opener = null;
  target?.focus({ preventScroll: true });
}
