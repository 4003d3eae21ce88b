import { Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import type { TaskDetail } from '../../api/types.ts';
import { secondsLeft } from '../../parts/format.ts';

/** Which attempt at a provider runs, or when the next one begins and what became of the last. */
export function Attempt({ task }: { readonly task: TaskDetail }) {
  const { phase, calls, most_calls: most, next_try_at: next, queue_position: position } = task;
  const now = useNow(next !== null);
  if (calls === 0)
    return (
      <Text size="sm" mt="sm" ta="center">
        {position === undefined ? 'Waiting in the queue' : `Position ${position} in your account’s queue`}
      </Text>
    );
  const last = task.timeline.findLast(({ event }) => event === 'provider_call');
  const isWaiting = phase === 'queued';
  const left = next === null ? 0 : Date.parse(next) - now;
  const soon = left > 0 ? `retrying in ${secondsLeft(left)}` : 'retrying soon';
  const why = last?.code === undefined ? '' : `: ${last.provider ?? 'the provider'} answered ${last.code}`;
  return (
    <Text size="sm" mt="sm" ta="center" style={{ overflowWrap: 'anywhere' }}>
      {isWaiting
        ? `Attempt ${Math.min(calls + 1, most)} of ${most}, ${soon}${why}`
        : `Attempt ${calls} of ${most} at ${last?.provider ?? 'a provider'}`}
    </Text>
  );
}

/** The time, anew every second while somebody counts. */
function useNow(isCounting: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isCounting) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isCounting]);
  return now;
}
