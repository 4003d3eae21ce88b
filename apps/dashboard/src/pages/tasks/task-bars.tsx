import { Box, Text } from '@mantine/core';
import type { TaskDetail } from '../../api/types.ts';
import { duration } from '../../parts/format.ts';
import { spansOf, type TaskSpan } from '../../parts/task-spans.ts';
import { useNow } from '../../parts/use-now.ts';

/** Where a task's time went: a bar for each part, to scale, one below the other. */
export function TaskBars({ task }: { readonly task: TaskDetail }) {
  const now = useNow(task.status === 'pending');
  const spans = spansOf(task, now);
  const [first] = spans;
  const end = spans.at(-1)?.to;
  if (first === undefined || end === undefined) return null;
  const share = (ms: number): string => `${((ms / (end - first.from)) * 100).toFixed(3)}%`;
  return (
    <Box component="ol" className="time-bars" aria-label="Time">
      {spans.map((span) => (
        <Box component="li" key={span.from}>
          <Text size="xs" className="time-name">
            {span.name}
            {span.failed && ' (failed)'}
          </Text>
          <Text size="xs" className="numbers nowrap">
            {duration(span.to - span.from)}
          </Text>
          <span className="time-track" aria-hidden>
            <span
              className="time-bar"
              data-kind={lookOf(span)}
              style={{ left: `min(${share(span.from - first.from)}, 100% - 3px)`, width: share(span.to - span.from) }}
            />
          </span>
        </Box>
      ))}
    </Box>
  );
}

function lookOf({ kind, failed }: TaskSpan): string {
  return failed ? 'failed' : kind;
}
