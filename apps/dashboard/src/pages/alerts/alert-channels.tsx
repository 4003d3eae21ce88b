import { Box, Button, Menu, Stack, Table, Text } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';
import { IconPlus, IconSend } from '@tabler/icons-react';
import {
  ALERT_VIEWS,
  alertChannelsQuery,
  type AlertChannel,
  type AlertChannels as Channels,
} from '../../api/alerts.ts';
import { send } from '../../api/request.ts';
import { CHANNEL_NAMES, channelLook } from '../../parts/alert-words.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { HiddenHead } from '../../parts/hidden-head.tsx';
import { Empty, Rows, Trouble } from '../../parts/page.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { SectionTitle } from '../../parts/section-title.tsx';
import { State } from '../../parts/state.tsx';
import { ChannelForm } from './channel-form.tsx';
import { useSave } from '../../parts/use-save.ts';

interface ChannelsProps {
  readonly query: UseQueryResult<Channels>;
}

/** Where alerts are sent, and whether they arrive. */
export function AlertChannels({ query: { data, error, refetch } }: ChannelsProps) {
  const [adding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<AlertChannel | null>(null);
  const add = (
    <Button variant="default" leftSection={<IconPlus size={16} />} onClick={() => setAdding(true)}>
      Add channel
    </Button>
  );
  const channels = data?.data ?? [];
  return (
    <Stack component="section" gap="md" aria-label="Channels">
      <SectionTitle about="Where alerts are sent." actions={channels.length > 0 ? add : undefined}>
        Channels
      </SectionTitle>
      {error !== null && <Trouble error={error} doing="Could not load channels" onRetry={() => void refetch()} />}
      {error === null && (
        <Box className="surface">
          {data === undefined && <Rows count={2} />}
          {data?.data.length === 0 && (
            <Empty icon={<IconSend size={36} />} title="No channels yet" action={add}>
              Without a channel, alerts appear only here in the console.
            </Empty>
          )}
          {channels.length > 0 && (
            <Table.ScrollContainer minWidth={300}>
              <Table horizontalSpacing="md" className="card-rows" __vars={{ '--card-cell': '130px' }}>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Channel</Table.Th>
                    <Table.Th>Status</Table.Th>
                    <HiddenHead w={56}>Actions</HiddenHead>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {channels.map((channel) => (
                    <ChannelRow key={channel.id} channel={channel} onRemove={() => setRemoved(channel)} />
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          )}
        </Box>
      )}
      {adding && <ChannelForm kinds={data?.kinds ?? []} onClose={() => setAdding(false)} />}
      {removed !== null && <RemoveChannel channel={removed} onClose={() => setRemoved(null)} />}
    </Stack>
  );
}

function ChannelRow({ channel, onRemove }: { readonly channel: AlertChannel; readonly onRemove: () => void }) {
  const { id, kind, address, gone } = channel;
  const test = useSave({
    send: () => send('POST', `/alerts/channels/${id}/test`),
    stale: [alertChannelsQuery],
    failed: 'Could not send the test alert',
  });
  const { why, ...look } = channelLook(channel);
  return (
    <Table.Tr>
      <Table.Td maw={420}>
        <Text size="sm">{CHANNEL_NAMES[kind]}</Text>
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {address}
        </Text>
      </Table.Td>
      <Table.Td data-name="Status">
        <Stack gap={2} align="flex-start" role="status">
          <State {...look} />
          <Text size="xs" c="dimmed">
            {why}
          </Text>
        </Stack>
      </Table.Td>
      <Table.Td className="card-menu">
        <RowMenu of={`${CHANNEL_NAMES[kind]} ${address}`} busy={test.isPending}>
          {!gone && <Menu.Item onClick={() => test.mutate()}>Send test alert</Menu.Item>}
          <Menu.Item c="var(--mantine-color-error)" onClick={onRemove}>
            Remove
          </Menu.Item>
        </RowMenu>
      </Table.Td>
    </Table.Tr>
  );
}

function RemoveChannel({ channel, onClose }: { readonly channel: AlertChannel; readonly onClose: () => void }) {
  const remove = useSave({
    send: () => send('DELETE', `/alerts/channels/${channel.id}`),
    stale: ALERT_VIEWS,
    done: 'Channel removed.',
    after: onClose,
  });
  return (
    <Confirm opened title="Remove this channel?" action="Remove channel" save={remove} onClose={onClose}>
      <Text span inherit fw={600} style={{ overflowWrap: 'anywhere' }}>
        {channel.address}
      </Text>{' '}
      stops getting alerts. Rules that send only to it will send to all other channels.
    </Confirm>
  );
}
