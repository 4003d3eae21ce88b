import { Progress, Stack, Text } from '@mantine/core';
import type { BatchRow } from '../../api/batches.ts';
import { money } from '../../parts/format.ts';
import { State } from '../../parts/state.tsx';

const LOOKS = {
  validating: { label: 'Checking file', color: 'amber' },
  in_progress: { label: 'Running', color: 'amber' },
  finalizing: { label: 'Writing results', color: 'amber' },
  cancelling: { label: 'Canceling', color: 'amber' },
  completed: { label: 'Completed', color: 'green' },
  failed: { label: 'File refused', color: 'red' },
  expired: { label: 'Expired', color: 'gray' },
  cancelled: { label: 'Canceled', color: 'gray' },
} as const;

/** The status of a batch. */
export function BatchState({ batch: { status } }: { readonly batch: Pick<BatchRow, 'status'> }) {
  return <State {...LOOKS[status]} />;
}

/** What it has cost; chats are counted by their usage alone. */
export function costOf({ spent }: BatchRow): string {
  return spent === null ? 'See usage' : money(spent);
}

/** How many of the requests have ended, and how many without an image. */
export function BatchProgress({ batch }: { readonly batch: BatchRow }) {
  const { total, completed, failed } = batch;
  if (total === 0) return '–';
  const share = (count: number): number => (100 * count) / total;
  const text = `${(completed + failed).toLocaleString('en')} of ${total.toLocaleString('en')}`;
  return (
    <Stack gap={4} miw={140}>
      <Progress.Root size="sm">
        <Progress.Section value={share(completed)} color="green" aria-label="Completed" />
        <Progress.Section value={share(failed)} color="red" aria-label="Failed" />
      </Progress.Root>
      <Text size="xs" c="dimmed" className="numbers">
        {text}
        {failed > 0 && ` · ${failed.toLocaleString('en')} failed`}
      </Text>
    </Stack>
  );
}
