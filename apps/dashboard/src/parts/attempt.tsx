import { Text, type TextProps } from '@mantine/core';
import { useEffect, useState } from 'react';
import type { TaskDetail, TimelineEvent } from '../api/types.ts';
import { secondsLeft } from './format.ts';

/** The running attempt, or the result of the last one and the time of the next. */
export function Attempt({ task, ...text }: TextProps & { readonly task: TaskDetail }) {
  const { phase, calls, most_calls: most, next_try_at: next, queue_position: position } = task;
  const now = useNow(next !== null);
  if (calls === 0)
    return (
      <Text size="sm" {...text}>
        {position === undefined ? 'Waiting in the queue' : `Position ${position} in your account’s queue`}
      </Text>
    );
  const last = task.timeline.findLast(({ event }) => event === 'provider_call');
  const isWaiting = phase === 'queued';
  const left = next === null ? 0 : Date.parse(next) - now;
  const soon = left > 0 ? `Retrying in ${secondsLeft(left)}.` : 'Retrying soon.';
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }} {...text}>
      {isWaiting
        ? `Attempt ${calls} of ${most} ${endOf(last)} ${soon}`
        : `Attempt ${calls} of ${most} at ${last?.provider ?? 'a provider'}`}
    </Text>
  );
}

function endOf(call: TimelineEvent | undefined): string {
  if (call?.outcome !== 'failed') return 'was interrupted.';
  const provider = call.provider ?? 'the provider';
  if (call.provider_status !== undefined) return `failed: ${provider} returned ${call.provider_status}.`;
  return call.code === 'upstream_invalid_response'
    ? `failed: ${provider} returned no usable image.`
    : `failed at ${provider}.`;
}

/** The current time, updated every second while counting down. */
function useNow(isCounting: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isCounting) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isCounting]);
  return now;
}
