import { Button, Group, List, Menu, Skeleton, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { amountIn } from '#contract/money.js';
import { useMay } from '../../api/queries.ts';
import { addressOf } from '../../api/request.ts';
import type { ManyTasks } from '../../api/types.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { money, shortPrompt } from '../../parts/format.ts';
import { Trouble } from '../../parts/page.tsx';
import { IconDownload } from '@tabler/icons-react';
import { DeleteItem, DeleteMatching } from './delete-matching.tsx';
import { BulkStatus } from './bulk-status.tsx';
import { isNarrowed, type TaskFilters } from './task-filters.ts';
import { callBulk, useBulkRun, type BulkAction, type BulkTarget } from './use-bulk-run.ts';

const WORDS = {
  cancel: { item: 'Cancel pending tasks', action: 'Cancel', done: 'canceled', kind: 'pending', keep: 'Keep tasks' },
  retry: { item: 'Retry failed tasks', action: 'Retry', done: 'retried', kind: 'failed', keep: 'Don’t retry' },
} as const;
/** Maximum number of reasons in a preview. */
const SHOWN = 3;

const tasks = (count: number, kind = ''): string =>
  `${count.toLocaleString('en')} ${kind === '' ? '' : `${kind} `}${count === 1 ? 'task' : 'tasks'}`;

/** Actions for all tasks that match the filters. */
export function ManyTasksMenu({ filters }: { readonly filters: TaskFilters }) {
  const may = useMay();
  const [action, setAction] = useState<BulkAction | null>(null);
  const [deleting, setDeleting] = useState(false);
  const { order: _, ...query } = filters;
  // The action determines the status.
  const { status: __, ...matching } = query;
  return (
    <Group gap="xs">
      {may('tasks.create') && (
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <Button variant="default">Bulk actions</Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => setAction('cancel')}>{WORDS.cancel.item}</Menu.Item>
            {may('tasks.retry') && <Menu.Item onClick={() => setAction('retry')}>{WORDS.retry.item}</Menu.Item>}
            <DeleteItem filters={filters} onClick={() => setDeleting(true)} />
          </Menu.Dropdown>
        </Menu>
      )}
      <Button
        component="a"
        href={addressOf('/tasks.csv', query)}
        variant="default"
        leftSection={<IconDownload size={16} />}
      >
        Export CSV
      </Button>
      {deleting && <DeleteMatching filters={filters} onClose={() => setDeleting(false)} />}
      {action !== null && (
        <ManyTasksDialog
          action={action}
          target={{ query: matching }}
          where={isNarrowed(matching) ? 'matching' : 'account'}
          onClose={() => setAction(null)}
        />
      )}
    </Group>
  );
}

/** Which tasks a bulk action is about, in words. */
type Where = 'account' | 'matching' | 'selected';

interface DialogProps {
  readonly action: BulkAction;
  readonly target: BulkTarget;
  readonly where: Where;
  readonly onClose: () => void;
  /** All of it was done. */
  readonly onDone?: () => void;
}

/** Shows a preview before it runs the action, and its progress after that. */
export function ManyTasksDialog({ action, target, where, onClose, onDone }: DialogProps) {
  const words = WORDS[action];
  const { data, error } = useQuery({
    queryKey: ['many-tasks', action, target],
    queryFn: () => callBulk(action, target, { dry_run: 'true' }),
    gcTime: 0,
    // What was agreed to stays, however much of it was done meanwhile.
    staleTime: Infinity,
  });
  const { progress, run, stop } = useBulkRun(action, target, ({ count, refused }) => {
    const left = [...refused.values()].reduce((sum, one) => sum + one, 0);
    notifications.show({
      color: left > 0 ? 'yellow' : 'green',
      title: `${tasks(count)} ${words.done}`,
      message: left > 0 ? `${tasks(left)} could not be ${words.done}: ${[...refused.keys()][0] ?? ''}` : '',
    });
    onDone?.();
    onClose();
  });
  const { state } = progress;
  const isRunning = state === 'running' || state === 'waiting' || state === 'stopping';
  return (
    <Dialog
      opened
      onClose={onClose}
      title={words.item}
      {...(isRunning && { closeOnEscape: false, closeOnClickOutside: false, withCloseButton: false })}
    >
      <Stack>
        {error !== null && <Trouble error={error} doing="Could not find matching tasks" />}
        {error === null && data === undefined && <Skeleton height={60} />}
        {data !== undefined && state === 'idle' && <Preview action={action} outcome={data} where={where} />}
        {data !== undefined && state !== 'idle' && (
          <BulkStatus progress={progress} total={data.has_more ? null : data.count} done={words.done} />
        )}
        <Group justify="flex-end">
          {isRunning ? (
            <Button variant="default" onClick={stop} disabled={state === 'stopping'} data-autofocus>
              Stop
            </Button>
          ) : (
            <Button variant="default" onClick={onClose} data-autofocus>
              {data?.count === 0 || state !== 'idle' ? 'Close' : words.keep}
            </Button>
          )}
          {data !== undefined && data.count > 0 && state === 'idle' && (
            <Button {...(action === 'cancel' && { color: 'red.8' })} onClick={run}>
              {words.action} {data.has_more ? `all ${words.kind} tasks` : tasks(data.count)}
            </Button>
          )}
          {(state === 'stopped' || state === 'failed') && (
            <Button {...(action === 'cancel' && { color: 'red.8' })} onClick={run}>
              Continue
            </Button>
          )}
        </Group>
      </Stack>
    </Dialog>
  );
}

interface PreviewProps {
  readonly action: BulkAction;
  readonly outcome: ManyTasks;
  readonly where: Where;
}

function Preview({ action, outcome, where }: PreviewProps) {
  const { count, refused, has_more: hasMore } = outcome;
  const { kind } = WORDS[action];
  const place = {
    account: 'in this account',
    matching: `that ${count === 1 ? 'matches' : 'match'} your filters`,
    selected: 'that you selected',
  }[where];
  const none =
    action === 'cancel'
      ? `There are no ${kind} tasks ${place}.`
      : refused.length > 0
        ? `None of the ${kind} tasks ${place} can be retried.`
        : `Nothing to retry: there are no failed tasks ${place}, or all were already retried.`;
  return (
    <>
      <Text size="sm">
        {count === 0
          ? none
          : `This ${action === 'retry' ? 'retries' : 'cancels'} ${hasMore ? 'at least ' : ''}${tasks(count, kind)} ${place}.`}{' '}
        {count > 0 && action === 'retry' && 'Each task is retried once, with its original key.'}
        {count > 0 && action === 'cancel' && 'If a provider has already started, you may still be charged.'}
      </Text>
      {count > 0 && <First action={action} outcome={outcome} />}
      {count > 0 && <Terms outcome={outcome} />}
      {refused.length > 0 && (
        <>
          <Text size="sm">{tasks(refused.length)} can’t be retried:</Text>
          <List size="sm">
            {[...new Set(refused.map(({ message }) => message))].slice(0, SHOWN).map((message) => (
              <List.Item key={message}>{message}</List.Item>
            ))}
          </List>
        </>
      )}
    </>
  );
}

/** The first few tasks by their prompts; for retries, with the price of each. */
function First({ action, outcome: { count, first, has_more: hasMore } }: Omit<PreviewProps, 'where'>) {
  const left = count - first.length;
  return (
    <List size="sm" aria-label={`First ${tasks(first.length)}`} listStyleType="none">
      {first.map(({ task_id: id, prompt, cost }) => (
        <List.Item key={id} classNames={{ itemWrapper: 'named-task', itemLabel: 'named-task-label' }}>
          <Text size="sm" truncate flex={1} miw={0} title={prompt}>
            {shortPrompt(prompt) || id}
          </Text>
          {action === 'retry' && (
            <Text size="sm" c="dimmed" className="numbers nowrap">
              {cost?.amount === null ? COST_UNKNOWN : money(cost)}
            </Text>
          )}
        </List.Item>
      ))}
      {left > 0 && (
        <List.Item c="dimmed">
          and {hasMore && 'at least '}
          {left.toLocaleString('en')} more
        </List.Item>
      )}
    </List>
  );
}

const COST_UNKNOWN = 'Cost unknown';

/** The total price of the retries, and what it leaves out. */
function Terms({ outcome: { count, cost, unpriced, has_more: hasMore } }: Pick<PreviewProps, 'outcome'>) {
  const known = cost !== null && Number(cost.amount) > 0;
  if (!known && unpriced === 0) return null;
  const rest = `no price is set for ${unpriced === count ? (count === 1 ? 'its model' : 'their models') : `the models of ${tasks(unpriced)}`}`;
  return (
    <Text size="sm">
      {known && (
        <>
          {hasMore ? `The newest ${tasks(count)} cost` : 'It costs'} at most{' '}
          <b>{amountIn(cost.amount, cost.currency)}</b>
          {unpriced > 0 && ' for tasks with a price'}
          {hasMore && '; the others cost more'}.{' '}
        </>
      )}
      {unpriced > 0 && `Cost unknown: ${rest}.`}
    </Text>
  );
}
