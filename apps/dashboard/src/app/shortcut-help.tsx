import { Button, Group, Kbd, Stack, Switch, Table } from '@mantine/core';
import { Fragment } from 'react';
import { Dialog } from '../parts/dialog.tsx';
import { useSingleKeys } from './shortcuts.ts';

const COMMAND = /mac|iphone|ipad/i.test(navigator.userAgent) ? '⌘' : 'Ctrl';
const SHORTCUTS = [
  { keys: [COMMAND, 'K'], does: 'Go to a page, do something, or open a task by its ID' },
  { keys: ['?'], does: 'Show this list' },
  { keys: ['Shift', 'Click'], does: 'In the list of tasks: select all rows from the last selected one on' },
  { keys: ['F'], does: 'In the gallery and on an open image: add to the favorites, or remove' },
  { keys: ['X'], does: 'In the gallery: select or clear an image' },
  { keys: ['← →'], does: 'In the gallery and on an open image: go to the one before or after' },
  { keys: ['+ −'], does: 'On an open image: zoom; 0 shows all of it' },
  { keys: ['Esc'], does: 'Close a dialog or a menu' },
];

/** All keyboard shortcuts. */
export function ShortcutHelp({ onClose }: { readonly onClose: () => void }) {
  const [hasSingleKeys, setSingleKeys] = useSingleKeys();
  return (
    <Dialog opened onClose={onClose} title="Keyboard shortcuts">
      <Stack>
        <Table>
          <Table.Tbody>
            {SHORTCUTS.map(({ keys, does }) => (
              <Table.Tr key={does}>
                <Table.Th scope="row" w={130} fw={400}>
                  {keys.map((key, index) => (
                    <Fragment key={key}>
                      {index > 0 && ' + '}
                      <Kbd>{key}</Kbd>
                    </Fragment>
                  ))}
                </Table.Th>
                <Table.Td>{does}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        <Switch
          label="Shortcuts of a single key"
          description="Turn them off if you use speech input."
          checked={hasSingleKeys}
          onChange={({ currentTarget }) => setSingleKeys(currentTarget.checked)}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            Close
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
