import { Box, Kbd, Text, TextInput, useMantineColorScheme, VisuallyHidden } from '@mantine/core';
import {
  IconContrast,
  IconKey,
  IconKeyboard,
  IconList,
  IconLogout,
  IconMoon,
  IconPhoto,
  IconSearch,
  IconSun,
  IconUser,
  IconUserPlus,
} from '@tabler/icons-react';
import { useNavigate, type LinkProps } from '@tanstack/react-router';
import { useId, useState, type KeyboardEvent, type ReactNode } from 'react';
import { useMay } from '../api/queries.ts';
import { Dialog } from '../parts/dialog.tsx';
import { useSignOut } from './use-sign-out.ts';

interface PaletteProps {
  /** The pages that the user may open. */
  readonly pages: readonly {
    readonly to: NonNullable<LinkProps['to']>;
    readonly label: string;
    readonly icon: ReactNode;
  }[];
  readonly onHelp: () => void;
  readonly onClose: () => void;
}

interface Command {
  readonly label: string;
  readonly icon: ReactNode;
  /** Other words for it. */
  readonly words?: string;
  readonly run: () => unknown;
}

const TASK_ID = /^task_[0-9a-z]{26}$/i;

/** Finds a page, an action or a task by what is typed. */
export function Palette({ pages, onHelp, onClose }: PaletteProps) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const commands = found(useCommands(pages, text.trim(), onHelp), text);
  const chosen = Math.min(at, commands.length - 1);
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && commands.length > 0) {
      setAt((chosen + step + commands.length) % commands.length);
    } else if (event.key === 'Enter' && !event.repeat) {
      run(commands[chosen]);
    } else {
      return;
    }
    event.preventDefault();
  };
  return (
    <Dialog opened onClose={onClose} title="Go to or do" withCloseButton={false} yOffset="12vh">
      <TextInput
        data-autofocus
        role="combobox"
        aria-label="Search pages and actions, or enter a task ID"
        aria-expanded
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        {...(chosen >= 0 && { 'aria-activedescendant': `${id}-${chosen}` })}
        placeholder="Search pages and actions, or enter a task ID"
        leftSection={<IconSearch size={16} />}
        value={text}
        maxLength={200}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <VisuallyHidden role="status">
        {commands.length === 1 ? '1 result' : `${commands.length === 0 ? 'No' : commands.length} results`}
      </VisuallyHidden>
      <Box id={`${id}-list`} role="listbox" aria-label="Results" mt="sm" mah="50vh" style={{ overflowY: 'auto' }}>
        {commands.map((command, index) => (
          <Box
            key={command.label}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            className="palette-option"
            ref={(option) => {
              if (index === chosen) option?.scrollIntoView({ block: 'nearest' });
            }}
            onClick={() => run(command)}
          >
            {command.icon}
            <Text span inherit truncate>
              {command.label}
            </Text>
          </Box>
        ))}
      </Box>
      <Text size="xs" c="dimmed" mt="sm" visibleFrom="sm">
        <Kbd size="xs">↑</Kbd> <Kbd size="xs">↓</Kbd> to choose, <Kbd size="xs">Enter</Kbd> to open
      </Text>
    </Dialog>
  );
}

/** What can be done, in order; `text`: what was typed. */
function useCommands(pages: PaletteProps['pages'], text: string, onHelp: () => void): Command[] {
  const may = useMay();
  const navigate = useNavigate();
  const signOut = useSignOut();
  const { setColorScheme } = useMantineColorScheme();
  const isTask = TASK_ID.test(text);
  const commands: (Command & { readonly isMissing?: boolean })[] = [
    {
      label: `Open task ${text}`,
      icon: <IconPhoto size={18} />,
      isMissing: !isTask || !may('tasks.read'),
      run: () => navigate({ to: '/tasks/$id', params: { id: text } }),
    },
    ...pages.map(({ to, label, icon }) => ({ label, icon, words: 'page', run: () => navigate({ to }) })),
    {
      label: 'Profile',
      icon: <IconUser size={18} />,
      words: 'password passkeys',
      run: () => navigate({ to: '/profile' }),
    },
    {
      label: 'New key',
      icon: <IconKey size={18} />,
      words: 'create api key',
      isMissing: !may('keys.manage'),
      run: () => navigate({ to: '/keys', hash: 'new' }),
    },
    {
      label: 'Generate an image',
      icon: <IconPhoto size={18} />,
      words: 'playground new create',
      isMissing: !may('tasks.create'),
      run: () => navigate({ to: '/playground' }),
    },
    {
      label: 'Invite members',
      icon: <IconUserPlus size={18} />,
      words: 'team add person',
      isMissing: !may('team.manage'),
      run: () => navigate({ to: '/team', hash: 'new' }),
    },
    { label: 'Light theme', icon: <IconSun size={18} />, words: 'appearance', run: () => setColorScheme('light') },
    { label: 'Dark theme', icon: <IconMoon size={18} />, words: 'appearance', run: () => setColorScheme('dark') },
    { label: 'System theme', icon: <IconContrast size={18} />, words: 'appearance', run: () => setColorScheme('auto') },
    { label: 'Keyboard shortcuts', icon: <IconKeyboard size={18} />, words: 'help', run: onHelp },
    { label: 'Sign out', icon: <IconLogout size={18} />, words: 'log out', run: () => signOut.mutate() },
    {
      label: `Search tasks for “${text}”`,
      icon: <IconList size={18} />,
      words: text,
      isMissing: text === '' || isTask || !may('tasks.read'),
      run: () => navigate({ to: '/tasks', search: { text } }),
    },
  ];
  return commands.filter(({ isMissing }) => isMissing !== true);
}

/** The commands that have all typed words. */
function found(commands: readonly Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/);
  return commands.filter(({ label, words: more = '' }) => {
    const known = `${label} ${more}`.toLowerCase();
    return words.every((word) => known.includes(word));
  });
}
