import { Box, Button, Menu, Stack, Table, Text } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Endpoint } from '../../api/webhooks.ts';
import { clockTime, fromNow, fullTime } from '../../parts/format.ts';
import { IconWebhook } from '@tabler/icons-react';
import { HiddenHead } from '../../parts/hidden-head.tsx';
import { Empty, Rows, Trouble } from '../../parts/page.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { State, type StateLook } from '../../parts/state.tsx';
import { eventName, undeliveredOf } from '../../parts/webhook-words.ts';
import { useEndpointSwitch, useEndpointTest, type EndpointDialog } from './webhook-endpoint-actions.tsx';

interface EndpointsProps {
  readonly query: UseQueryResult<{ readonly data: readonly Endpoint[] }>;
  readonly isAdmin: boolean;
  readonly add: ReactNode;
  readonly onAct: (dialog: EndpointDialog) => void;
}

export function WebhookEndpoints({ query: { data, error, isPending, refetch }, isAdmin, add, onAct }: EndpointsProps) {
  if (error !== null) {
    return <Trouble error={error} doing="Could not load endpoints" onRetry={() => void refetch()} />;
  }
  return (
    <Box className="surface" component="section" aria-label="Endpoints">
      {isPending && <Rows count={2} />}
      {data?.data.length === 0 && (
        <Empty icon={<IconWebhook size={36} />} title="No endpoints yet" action={add}>
          An endpoint is a URL in your app. Darkroom sends it a signed event when an asynchronous task completes, fails,
          or is canceled. {isAdmin ? 'Add one, then send it a test event.' : 'Ask an owner or admin to add one.'}
        </Empty>
      )}
      {data !== undefined && data.data.length > 0 && (
        <Table.ScrollContainer minWidth={300}>
          <Table horizontalSpacing="md" className="card-rows" __vars={{ '--card-cell': '180px' }}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Endpoint</Table.Th>
                <Table.Th>Status</Table.Th>
                <Table.Th>Last 24 hours</Table.Th>
                <HiddenHead w={56}>Actions</HiddenHead>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.data.map((endpoint) => (
                <EndpointRow key={endpoint.id} endpoint={endpoint} isAdmin={isAdmin} onAct={onAct} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Box>
  );
}

interface RowProps {
  readonly endpoint: Endpoint;
  readonly isAdmin: boolean;
  readonly onAct: (dialog: EndpointDialog) => void;
}

function EndpointRow({ endpoint, isAdmin, onAct }: RowProps) {
  const { url, events, disabled_at: disabledAt, recent } = endpoint;
  return (
    <Table.Tr>
      <Table.Td maw={420}>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {url}
        </Text>
        <Text size="xs" c="dimmed">
          {events.map(eventName).join(', ')}
        </Text>
      </Table.Td>
      <Table.Td data-name="Status" title={disabledAt === null ? undefined : `Since ${fullTime(disabledAt)}`}>
        <Stack gap={6} align="flex-start">
          <State {...lookOf(endpoint)} />
          {isAdmin && disabledAt === null && recent !== null && recent.failed + recent.retrying > 0 && (
            <Button
              variant="default"
              size="xs"
              aria-label={`Resend all failed deliveries to ${url}`}
              onClick={() => onAct({ kind: 'resend', endpoint })}
            >
              Resend all failed
            </Button>
          )}
        </Stack>
      </Table.Td>
      <Table.Td data-name="Last 24 hours">
        {recent === null ? (
          <Text size="sm" c="dimmed">
            None
          </Text>
        ) : (
          <Stack gap={0}>
            <Text size="sm" className="numbers">
              {recordOf(recent)}
            </Text>
            <Text size="xs" c="dimmed" title={fullTime(recent.last_at)}>
              last one {fromNow(recent.last_at)}
            </Text>
          </Stack>
        )}
      </Table.Td>
      <Table.Td className="card-menu">
        <EndpointMenu endpoint={endpoint} isAdmin={isAdmin} onAct={onAct} />
      </Table.Td>
    </Table.Tr>
  );
}

function EndpointMenu({ endpoint, isAdmin, onAct }: RowProps) {
  const navigate = useNavigate();
  const test = useEndpointTest(endpoint);
  const flip = useEndpointSwitch(endpoint);
  const active = endpoint.disabled_at === null;
  return (
    <RowMenu of={endpoint.url} busy={test.isPending || flip.isPending}>
      {isAdmin && active && <Menu.Item onClick={() => test.mutate()}>Send test event</Menu.Item>}
      <Menu.Item
        onClick={() => void navigate({ to: '/webhooks', search: { endpoint: endpoint.id }, resetScroll: false })}
      >
        View deliveries
      </Menu.Item>
      {isAdmin && (
        <>
          <Menu.Item onClick={() => onAct({ kind: 'events', endpoint })}>Edit events</Menu.Item>
          <Menu.Item onClick={() => flip.mutate()}>{active ? 'Disable' : 'Enable'}</Menu.Item>
          <Menu.Divider />
          <Menu.Item c="var(--mantine-color-error)" onClick={() => onAct({ kind: 'remove', endpoint })}>
            Remove
          </Menu.Item>
        </>
      )}
    </RowMenu>
  );
}

function lookOf({ disabled_at: disabledAt, disabled_reason: reason, failing_since: since }: Endpoint): StateLook {
  if (disabledAt === null && since !== null) return { label: `Failing since ${clockTime(since)}`, color: 'red' };
  if (disabledAt === null) return { label: 'Active', color: 'green' };
  return reason === 'gone' ? { label: 'Disabled (HTTP 410)', color: 'red' } : { label: 'Disabled', color: 'gray' };
}

function recordOf(recent: NonNullable<Endpoint['recent']>): string {
  const { delivered, failed, retrying } = recent;
  if (delivered + failed + retrying === 0) return 'In progress';
  if (failed + retrying > 0) return undeliveredOf(recent);
  return `${delivered.toLocaleString('en')} of ${delivered.toLocaleString('en')} delivered`;
}
