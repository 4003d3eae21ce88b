import { Modal, type ModalProps } from '@mantine/core';
import { useEffect, useState } from 'react';

/** Number of open dialogs; one may open while another closes. */
let shown = 0;
/** The element that was focused before the first of them opened. */
let opener: HTMLElement | null = null;

/**
 * A modal that returns the focus to its opener, or to the main content if the opener is gone, so that the focus is
 * never lost.
 */
export function Dialog(props: ModalProps) {
  const { opened } = props;
  const [wasOpened, setWasOpened] = useState(false);
  // During render, because the opener may be removed in this very update.
  if (opened !== wasOpened) {
    setWasOpened(opened);
    if (opened) opener = focused() ?? opener;
  }
  useEffect(() => {
    if (!opened) return;
    shown++;
    return () => {
      shown--;
      // Everything else that takes the focus on closing comes first.
      setTimeout(returnFocus, 20);
    };
  }, [opened]);
  return <Modal {...props} returnFocus={false} />;
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
