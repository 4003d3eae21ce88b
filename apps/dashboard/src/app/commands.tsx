import { Kbd, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { lazy, Suspense, useState, type ComponentProps } from 'react';
import type { Palette as PaletteType } from './palette.tsx';
import { useShortcuts } from './shortcuts.ts';

const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }));
const ShortcutHelp = lazy(async () => ({ default: (await import('./shortcut-help.tsx')).ShortcutHelp }));
const isMac = /mac|iphone|ipad/i.test(navigator.userAgent);

interface CommandsProps extends Pick<ComponentProps<typeof PaletteType>, 'pages'> {
  /** The palette was opened by its button. */
  readonly onOpen: () => void;
}

/** The button of the command palette, and the keyboard shortcuts; the rest is loaded when it is first used. */
export function Commands({ pages, onOpen }: CommandsProps) {
  const [opened, setOpened] = useState<'palette' | 'help' | null>(null);
  useShortcuts({ onPalette: () => setOpened('palette'), onHelp: () => setOpened('help') });
  const close = () => setOpened(null);
  return (
    <>
      <UnstyledButton
        className="page-link palette-button"
        aria-keyshortcuts={isMac ? 'Meta+K' : 'Control+K'}
        onClick={() => {
          onOpen();
          setOpened('palette');
        }}
      >
        <IconSearch size={18} />
        Go to
        <VisuallyHidden>, or do something</VisuallyHidden>
        <Kbd size="xs" ml="auto" visibleFrom="sm" aria-hidden>
          {isMac ? '⌘' : 'Ctrl'} K
        </Kbd>
      </UnstyledButton>
      <Suspense fallback={null}>
        {opened === 'palette' && <Palette pages={pages} onHelp={() => setOpened('help')} onClose={close} />}
        {opened === 'help' && <ShortcutHelp onClose={close} />}
      </Suspense>
    </>
  );
}
