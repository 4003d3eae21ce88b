import { Button, Group, Text, VisuallyHidden } from '@mantine/core';
import { useState } from 'react';
import { useMay } from '../../api/queries.ts';
import type { TaskRow } from '../../api/types.ts';
import { DeleteTasks } from '../../parts/delete-tasks.tsx';
import { ManyTasksDialog } from './many-tasks.tsx';
import type { TaskFilters } from './task-filters.ts';
import type { BulkAction, BulkTarget } from './use-bulk-run.ts';
import type { Selection } from './use-selection.ts';

interface SelectionBarProps {
  readonly tasks: readonly TaskRow[];
  readonly filters: TaskFilters;
  /** Whether more tasks match than are listed. */
  readonly hasMore: boolean;
  readonly selection: Selection;
}

/** What can be done with the selected tasks; below the list, so that no row moves under the pointer. */
export function SelectionBar({ tasks, filters, hasMore, selection: { ids, chooseAll } }: SelectionBarProps) {
  const may = useMay();
  const [isAll, setAll] = useState(false);
  const [asked, setAsked] = useState<{ action: BulkAction; target: BulkTarget } | null>(null);
  const isEvery = ids.size === tasks.length && hasMore;
  if (isAll && !isEvery) setAll(false);
  const chosen = tasks.filter(({ id }) => ids.has(id));
  const failed = chosen.filter(
    ({ status, retried_as: retried, deleted_at: deleted }) =>
      status === 'failed' && retried === null && deleted === null,
  );
  const kept = chosen.filter(({ deleted_at: deleted }) => deleted === null);
  const pending = chosen.filter(({ status }) => status === 'pending');
  const { order: _, status: __, ...query } = filters;
  const ask = (action: BulkAction, some: readonly TaskRow[]) => {
    setAsked({ action, target: isAll ? { query } : { ids: some.map(({ id }) => id) } });
  };
  const clear = () => {
    setAll(false);
    chooseAll(false);
  };
  return (
    <>
      <VisuallyHidden role="status">
        {ids.size > 0 && (isAll ? 'All matching tasks selected' : `${ids.size.toLocaleString('en')} selected`)}
      </VisuallyHidden>
      {ids.size > 0 && (
        <Group className="selection-bar" role="group" aria-label="Selected tasks" gap="xs">
          <Text size="sm" fw={600} className="numbers nowrap">
            {isAll ? 'All that match' : `${ids.size.toLocaleString('en')} selected`}
          </Text>
          {isEvery && !isAll && (
            <Button variant="subtle" size="xs" onClick={() => setAll(true)}>
              Select all that match
            </Button>
          )}
          {may('tasks.retry') && (isAll ? filters.status !== 'pending' : failed.length > 0) && (
            <Button size="xs" variant="default" onClick={() => ask('retry', failed)}>
              {isAll ? 'Retry failed' : `Retry ${failed.length.toLocaleString('en')} failed`}
            </Button>
          )}
          {(isAll ? filters.status !== 'failed' : pending.length > 0) && (
            <Button size="xs" variant="default" onClick={() => ask('cancel', pending)}>
              {isAll ? 'Cancel pending' : `Cancel ${pending.length.toLocaleString('en')} pending`}
            </Button>
          )}
          {!isAll && kept.length > 0 && (
            <DeleteTasks
              ids={kept.map(({ id }) => id)}
              label={`Delete ${kept.length.toLocaleString('en')}`}
              size="xs"
              arePending={pending.length > 0}
              onDeleted={clear}
            />
          )}
          <Button size="xs" variant="subtle" color="gray" onClick={clear}>
            Clear selection
          </Button>
        </Group>
      )}
      {asked !== null && (
        <ManyTasksDialog
          {...asked}
          where={isAll ? 'matching' : 'selected'}
          onClose={() => setAsked(null)}
          onDone={clear}
        />
      )}
    </>
  );
}
