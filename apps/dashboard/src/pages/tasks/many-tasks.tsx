import { Button, Group, List, Menu, Skeleton, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { amountIn } from '#contract/money.js';
import { BusyButton } from '../../parts/busy.tsx';
import { queryClient, useMay } from '../../api/queries.ts';
import { addressOf, send } from '../../api/request.ts';
import type { ManyTasks } from '../../api/types.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { money, shortPrompt } from '../../parts/format.ts';
import { Trouble } from '../../parts/page.tsx';
import { IconDownload } from '@tabler/icons-react';
import { isNarrowed, type TaskFilters } from './task-filters.ts';

type Action = 'cancel' | 'retry';

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
  const [action, setAction] = useState<Action | null>(null);
  const { order: _, ...query } = filters;
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
      {action !== null && <ManyTasksDialog action={action} filters={filters} onClose={() => setAction(null)} />}
    </Group>
  );
}

interface DialogProps {
  readonly action: Action;
  readonly filters: TaskFilters;
  readonly onClose: () => void;
}

/** Shows a preview before it runs the action. */
function ManyTasksDialog({ action, filters, onClose }: DialogProps) {
  const words = WORDS[action];
  // The action determines the status.
  const { order: _, status: _status, ...query } = filters;
  const call = (dryRun: boolean) =>
    send<ManyTasks>('POST', `/tasks/${action}`, undefined, undefined, { ...query, dry_run: String(dryRun) });
  const preview = useQuery({ queryKey: ['many-tasks', action, query], queryFn: () => call(true), gcTime: 0 });
  const run = useMutation({
    mutationFn: () => call(false),
    onSuccess: async ({ count, refused, has_more: hasMore }) => {
      await queryClient.invalidateQueries({ queryKey: ['tasks'] });
      const rest = [
        refused.length > 0 ? `${tasks(refused.length)} could not be ${words.done}: ${refused[0]?.message ?? ''}` : '',
        hasMore ? 'More tasks match. Repeat the action to continue.' : '',
      ].filter((text) => text !== '');
      notifications.show({
        color: refused.length > 0 ? 'yellow' : 'green',
        title: `${tasks(count)} ${words.done}`,
        message: rest.join(' '),
      });
      onClose();
    },
  });
  const { data, error } = preview;
  return (
    <Dialog opened onClose={onClose} title={words.item}>
      <Stack>
        {error !== null && <Trouble error={error} doing="Could not find matching tasks" />}
        {run.error !== null && <Trouble error={run.error} doing="Something went wrong" />}
        {error === null && data === undefined && <Skeleton height={60} />}
        {data !== undefined && <Preview action={action} outcome={data} isNarrowed={isNarrowed(query)} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            {data?.count === 0 ? 'Close' : words.keep}
          </Button>
          {data !== undefined && data.count > 0 && (
            <BusyButton
              {...(action === 'cancel' && { color: 'red.8' })}
              busy={run.isPending}
              onClick={() => run.mutate()}
            >
              {words.action} {tasks(data.count)}
            </BusyButton>
          )}
        </Group>
      </Stack>
    </Dialog>
  );
}

interface PreviewProps {
  readonly action: Action;
  readonly outcome: ManyTasks;
  readonly isNarrowed: boolean;
}

function Preview({ action, outcome, isNarrowed: narrowed }: PreviewProps) {
  const { count, refused, has_more: hasMore } = outcome;
  const { kind } = WORDS[action];
  const where = narrowed ? `that ${count === 1 ? 'matches' : 'match'} your filters` : 'in this account';
  const none =
    action === 'cancel'
      ? `There are no ${kind} tasks ${where}.`
      : refused.length > 0
        ? `None of the ${kind} tasks ${where} can be retried.`
        : `Nothing to retry: there are no failed tasks ${where}, or all were already retried.`;
  return (
    <>
      <Text size="sm">
        {count === 0
          ? none
          : `This ${action === 'retry' ? 'retries' : 'cancels'} ${hasMore ? 'the newest ' : ''}${tasks(count, kind)} ${where}.`}{' '}
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
function First({ action, outcome: { count, first, has_more: hasMore } }: Omit<PreviewProps, 'isNarrowed'>) {
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
          and {left.toLocaleString('en')} more{hasMore ? ' now' : ''}
        </List.Item>
      )}
    </List>
  );
}

const COST_UNKNOWN = 'Cost unknown';

/** The total price of the retries, and what it leaves out. */
function Terms({ outcome: { count, cost, unpriced } }: Pick<PreviewProps, 'outcome'>) {
  const known = cost !== null && Number(cost.amount) > 0;
  if (!known && unpriced === 0) return null;
  const rest = `no price is set for ${unpriced === count ? (count === 1 ? 'its model' : 'their models') : `the models of ${tasks(unpriced)}`}`;
  return (
    <Text size="sm">
      {known && (
        <>
          It costs at most <b>{amountIn(cost.amount, cost.currency)}</b>
          {unpriced > 0 && ' for tasks with a price'}.{' '}
        </>
      )}
      {unpriced > 0 && `Cost unknown: ${rest}.`}
    </Text>
  );
}
