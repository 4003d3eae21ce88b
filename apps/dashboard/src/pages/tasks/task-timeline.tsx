import { Code, Group, Text, Timeline } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Delivery, TaskDetail, TimelineEvent } from '../../api/types.ts';
import { duration, fullTime, money } from '../../parts/format.ts';
import { IconCheck, IconPhoto, IconPlus, IconServer, IconWebhook, IconX } from '@tabler/icons-react';
import { State } from '../../parts/state.tsx';

const NAMES = {
  accepted: 'Accepted',
  approved: 'Approved',
  rejected: 'Rejected',
  started: 'Picked up by a worker',
  provider_call: 'Provider called',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Canceled',
} as const;

const OUTCOMES = {
  running: { label: 'Running', color: 'amber' },
  succeeded: { label: 'Succeeded', color: 'green' },
  failed: { label: 'Failed', color: 'red' },
  not_called: { label: 'Not called', color: 'gray' },
  unknown: { label: 'Interrupted', color: 'gray' },
} as const;

interface Line {
  readonly at: number;
  readonly title: string;
  readonly icon?: ReactNode;
  readonly color?: string;
  readonly body?: ReactNode;
}

/** From acceptance through every attempt to the webhook delivery. */
export function TaskTimeline({ task }: { readonly task: TaskDetail }) {
  const start = Date.parse(task.created_at);
  const lines = [
    ...task.timeline.map((event) => eventLine(event, task.cost)),
    ...task.webhook_deliveries.map(deliveryLine),
  ];
  lines.sort((one, other) => one.at - other.at);
  if (lines.length === 0)
    return (
      <Text size="sm" c="dimmed">
        No events yet.
      </Text>
    );
  return (
    <Timeline bulletSize={22} lineWidth={2} active={lines.length}>
      {lines.map(({ at, title, icon, color, body }, index) => (
        <Timeline.Item key={index} bullet={icon} color={color ?? 'gray'} title={<Text size="sm">{title}</Text>}>
          {body}
          <Text size="xs" c="dimmed" className="numbers">
            {at - start < 1 ? fullTime(at) : `+${duration(at - start)}`}
          </Text>
        </Timeline.Item>
      ))}
    </Timeline>
  );
}

function eventLine(event: TimelineEvent, cost: TaskDetail['cost']): Line {
  const at = event.at * 1000;
  if (event.event === 'provider_call')
    return {
      at,
      title: `${NAMES.provider_call}: ${event.provider ?? 'unknown'}`,
      icon: <IconServer size={12} />,
      body: <Call call={event} cost={cost} />,
    };
  const title = NAMES[event.event];
  if (event.event === 'completed') return { at, title, icon: <IconCheck size={12} />, color: 'green' };
  if (event.event === 'failed') return { at, title, icon: <IconX size={12} />, color: 'red' };
  return { at, title, icon: event.event === 'accepted' ? <IconPlus size={12} /> : <IconPhoto size={12} /> };
}

interface CallProps {
  readonly call: TimelineEvent;
  /** Cost of the whole task, all of it for the successful attempt. */
  readonly cost: TaskDetail['cost'];
}

function Call({ call, cost }: CallProps) {
  const outcome = OUTCOMES[call.outcome ?? 'unknown'];
  const facts = [
    call.model,
    call.server === undefined ? undefined : `server ${call.server}`,
    call.region === undefined ? undefined : `region ${call.region}`,
    call.key === null || call.key === undefined ? undefined : `key ${call.key}`,
    call.ended === undefined ? undefined : duration((call.ended - call.at) * 1000),
    call.provider_status === undefined ? undefined : `HTTP ${call.provider_status}`,
    chargeOf(call, cost),
  ].filter((fact) => fact !== undefined);
  return (
    <>
      <Group gap={6} my={2}>
        <State {...outcome} />
        {call.code !== undefined && <Code>{call.code}</Code>}
        <Text size="xs">{facts.join(' · ')}</Text>
      </Group>
      {call.provider_message !== undefined && (
        <Text size="xs" style={{ overflowWrap: 'anywhere' }}>
          The provider said: {call.provider_message}
        </Text>
      )}
      {call.upstream_id !== undefined && (
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          Provider reference {call.upstream_id}
        </Text>
      )}
    </>
  );
}

/** The cost of one attempt. */
function chargeOf({ charged, outcome }: TimelineEvent, cost: TaskDetail['cost']): string | undefined {
  if (charged === 'maybe') return 'possibly charged';
  if (cost === null) return outcome === 'succeeded' ? 'free' : undefined;
  if (outcome === 'succeeded') return cost.amount === null ? 'cost unknown' : `cost ${money(cost)}`;
  if (charged === 'yes') return 'charged';
  return outcome === 'failed' ? 'not charged' : undefined;
}

function deliveryLine(delivery: Delivery): Line {
  return {
    at: Date.parse(delivery.delivered_at ?? delivery.created_at),
    title: delivery.delivered_at === null ? `Webhook ${delivery.status}` : 'Webhook delivered',
    icon: <IconWebhook size={12} />,
    ...(delivery.delivered_at === null ? {} : { color: 'green' }),
    body: (
      <Text size="xs" style={{ overflowWrap: 'anywhere' }}>
        {delivery.url ?? 'Removed endpoint'} · {delivery.attempts} {delivery.attempts === 1 ? 'attempt' : 'attempts'}
        {delivery.last_status !== null && ` · answered ${delivery.last_status}`}
      </Text>
    ),
  };
}
