import { Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { erasuresQuery, type Erasure } from './erasures.ts';

/** Deletions that ended longer ago are in the audit log alone. */
const SHOWN_MS = 3_600_000;

/** How far the latest deletions of tasks by a filter are. */
export function Deletions() {
  const { data } = useQuery(erasuresQuery);
  const shown = (data?.data ?? []).filter(
    ({ status, created_at: at }) => status === 'in_progress' || Date.now() - Date.parse(at) < SHOWN_MS,
  );
  if (shown.length === 0) return null;
  return (
    <Stack className="surface" p="md" gap={4} component="section" aria-label="Deletions">
      {shown.map((erasure) => (
        <Text key={erasure.id} size="sm" role="status" style={{ overflowWrap: 'anywhere' }}>
          {sentenceOf(erasure)}
        </Text>
      ))}
    </Stack>
  );
}

function sentenceOf({ status, deleted, filter }: Erasure): string {
  const { status: state, end_user: user, tag } = filter;
  const parts = [
    ...(state === undefined ? [] : [`status ${state === 'cancelled' ? 'canceled' : state}`]),
    ...(user === undefined ? [] : [`end user ${user}`]),
    ...(tag === undefined ? [] : [`tag “${tag}”`]),
  ];
  const what = `${deleted.toLocaleString('en')} ${deleted === 1 ? 'task' : 'tasks'}`;
  const which = parts.length === 0 ? 'of all tasks' : `with ${parts.join(', ')}`;
  return status === 'completed'
    ? `Deleted: ${what} ${parts.length === 0 ? 'of the account' : which}. Nothing of them is left.`
    : `Deleting tasks ${which}: ${what} so far.`;
}
