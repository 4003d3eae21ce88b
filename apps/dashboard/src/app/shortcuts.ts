import { useLocalStorage } from '@mantine/hooks';
import { useEffect, useEffectEvent } from 'react';
import { isDialogOpen } from '../parts/dialog.tsx';

/** Whether keys without Ctrl do something; stored in the browser. Speech input may type them by accident. */
export function useSingleKeys() {
  return useLocalStorage({ key: 'darkroom.single-keys', defaultValue: true, getInitialValueInEffect: false });
}

interface ShortcutsProps {
  readonly onPalette: () => void;
  readonly onHelp: () => void;
}

/** Ctrl or Cmd+K and `?`, but not in fields, menus and dialogs, where keys have their own meaning. */
export function useShortcuts({ onPalette, onHelp }: ShortcutsProps): void {
  const [hasSingleKeys] = useSingleKeys();
  const press = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || event.repeat || isDialogOpen() || isField(event.target)) return;
    const isCommand = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    const act =
      isCommand && event.key.toLowerCase() === 'k'
        ? onPalette
        : hasSingleKeys && event.key === '?'
          ? onHelp
          : undefined;
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => press(event);
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, []);
}

function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.closest('[role="dialog"], [role="menu"], [role="listbox"]') !== null)
    return true;
  return target.matches('textarea, select, input:not([type="checkbox"], [type="radio"], [type="button"])');
}
