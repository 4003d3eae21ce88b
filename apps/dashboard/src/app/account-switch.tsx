import { Button, Menu, Text } from '@mantine/core';
import { IconCheck, IconSelector } from '@tabler/icons-react';
import { useEffect } from 'react';
import { forgetDraft } from '../api/kept-draft.ts';
import { useSession } from '../api/queries.ts';
import { send } from '../api/request.ts';
import { ROLE_NAMES } from '../pages/team/role-choice.tsx';
import { CONSOLE } from '../api/place.ts';
import { useSave } from '../parts/use-save.ts';

/** The session has one account at a time, so other tabs have to switch as well. */
const CHANNEL = 'darkroom.account';

/** Reloads, so that no page keeps data of the previous account. */
function reopen(): void {
  location.assign(`${CONSOLE}/`);
}

/** Switches to another account of the user; renders nothing if there is only one. */
export function AccountSwitch() {
  const { account, accounts } = useSession();
  useEffect(() => {
    const channel = new BroadcastChannel(CHANNEL);
    channel.onmessage = reopen;
    return () => channel.close();
  }, []);
  const open = useSave({
    send: (id: string) => send('POST', '/session/account', { account_id: id }),
    after: async () => {
      await forgetDraft();
      new BroadcastChannel(CHANNEL).postMessage(null);
      reopen();
    },
    failed: 'Could not switch accounts',
  });
  if (accounts.length < 2) return null;
  return (
    <Menu
      position="top"
      width="target"
      withinPortal={false}
      styles={{ itemLabel: { minWidth: 0 }, dropdown: { maxHeight: '60vh', overflowY: 'auto' } }}
    >
      <Menu.Target>
        <Button
          variant="default"
          justify="space-between"
          fullWidth
          mb="sm"
          aria-label={`Switch account: ${account.name}`}
          rightSection={<IconSelector size={16} aria-hidden />}
          loading={open.isPending || open.isSuccess}
        >
          <Text span inherit truncate lh="md">
            {account.name}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {accounts.map(({ id, name, role }) => (
          <Menu.Item
            key={id}
            aria-current={id === account.id}
            rightSection={id === account.id ? <IconCheck size={16} aria-hidden /> : null}
            onClick={() => {
              if (id !== account.id) open.mutate(id);
            }}
          >
            <Text size="sm" truncate>
              {name}
            </Text>
            <Text size="xs" c="dimmed">
              {ROLE_NAMES[role]}
            </Text>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
