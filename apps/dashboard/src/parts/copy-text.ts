import { notifications } from '@mantine/notifications';
import { useState } from 'react';

const SHOWN_MS = 1_500;

/** Copies a text, and briefly confirms it. */
export function useCopy(text: string, onCopied?: () => void): { readonly copied: boolean; readonly copy: () => void } {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    if (!(await copyText(text))) {
      notifications.show({ color: 'red', title: 'Could not copy', message: 'Select the text and copy it yourself.' });
      return;
    }
    setCopied(true);
    onCopied?.();
    setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return { copied, copy: () => void copy() };
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // The clipboard API is missing without TLS, despite its type; with TLS, access may be denied.
    return copySelected(text);
  }
}

/** Copies by way of a selection, which browsers allow on any page. */
function copySelected(text: string): boolean {
  const active = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  // A dialog takes the focus back from elements outside.
  (active?.closest('[role="dialog"]') ?? document.body).append(area);
  area.select();
  try {
    // Deprecated, but the only way to copy on a page without TLS.
    return document.execCommand('copy');
  } finally {
    area.remove();
    if (active instanceof HTMLElement) active.focus();
  }
}
