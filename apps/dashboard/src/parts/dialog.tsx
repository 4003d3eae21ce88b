import { Modal, type ModalProps } from '@mantine/core';
import { useEffect, useState } from 'react';

/** Dialogs on the screen, of which one may open while another closes. */
let shown = 0;
/** What had the focus before the first of them opened. */
let opener: HTMLElement | null = null;

/** A modal that gives the focus back to what opened it, or to the page where that is gone, so that it never falls to the body. */
export function Dialog(props: ModalProps) {
  const { opened } = props;
  const [wasOpened, setWasOpened] = useState(false);
  // While rendering: what was clicked may leave the page with this very update.
  if (opened !== wasOpened) {
    setWasOpened(opened);
    if (opened) opener = focused() ?? opener;
  }
  useEffect(() => {
    if (!opened) return;
    shown++;
    return () => {
      shown--;
      // Whatever else takes the focus on closing comes first.
      setTimeout(giveBack, 20);
    };
  }, [opened]);
  return <Modal {...props} returnFocus={false} />;
}

/** The control that is in use: of a menu its button, since the menu closes; null within a dialog. */
function focused(): HTMLElement | null {
  const active = document.activeElement;
  if (active === null || active === document.body || active.closest('[role="dialog"]') !== null) return null;
  const menuButton = active.closest('[role="menu"]')?.getAttribute('aria-labelledby') ?? null;
  const control = menuButton === null ? active : document.getElementById(menuButton);
  return control instanceof HTMLElement ? control : null;
}

function giveBack(): void {
  const active = document.activeElement;
  const isLost = active === null || active === document.body || active.closest('[role="dialog"]') !== null;
  if (shown > 0 || !isLost) return;
  const target = opener?.isConnected === true ? opener : document.getElementById('main');
  opener = null;
  target?.focus({ preventScroll: true });
}
