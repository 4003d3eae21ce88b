import { List, Progress, Stack, Text } from '@mantine/core';
import { Trouble } from '../../parts/page.tsx';
import type { BulkProgress } from './use-bulk-run.ts';

/** Maximum number of reasons to list. */
const SHOWN = 5;

interface BulkStatusProps {
  readonly progress: BulkProgress;
  /** Number of tasks that the preview counted; null = there are more than it counted. */
  readonly total: number | null;
  /** "retried" */
  readonly done: string;
}

/** How far a bulk action is, and why it waits or has ended early. */
export function BulkStatus({ progress, total, done }: BulkStatusProps) {
  const { state, count, refused, wait, error } = progress;
  const soFar = `${count.toLocaleString('en')}${total === null ? '' : ` of ${total.toLocaleString('en')}`} ${done}`;
  const examined = count + [...refused.values()].reduce((sum, one) => sum + one, 0);
  return (
    <Stack gap="xs">
      <Progress
        value={total === null || total === 0 ? 100 : Math.min(100, (100 * examined) / total)}
        animated={state === 'running' && total === null}
        aria-label={soFar}
      />
      <Text size="sm" role="status" className="numbers">
        {soFar}
        {
          {
            idle: '.',
            running: '…',
            waiting: `. Continues in ${wait?.seconds ?? 0} s: ${wait?.reason ?? ''}`,
            stopping: '. Stopping after the current tasks…',
            stopped: '. Stopped; the other tasks are unchanged.',
            failed: '. Stopped by an error.',
            done: '.',
          }[state]
        }
      </Text>
      {refused.size > 0 && (
        <List size="sm" aria-label={`Not ${done}`}>
          {[...refused].slice(0, SHOWN).map(([reason, number]) => (
            <List.Item key={reason}>
              {number.toLocaleString('en')} not {done}: {reason}
            </List.Item>
          ))}
        </List>
      )}
      {error !== null && <Trouble error={error} doing="Could not continue" />}
    </Stack>
  );
}
