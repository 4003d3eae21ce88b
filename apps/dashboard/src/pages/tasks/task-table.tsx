import { Box, Group, Table, Text, UnstyledButton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import type { TaskRow } from '../../api/types.ts';
import { isWaiting, waitText } from '../../parts/attempt.tsx';
import { NO_PRICE } from '../../parts/cost.tsx';
import { dimensions, duration, fromNow, fullTime, money } from '../../parts/format.ts';
import { HiddenHead } from '../../parts/hidden-head.tsx';
import { SandboxMark, Thumbnail } from '../../parts/stored-image.tsx';
import { TaskLink } from '../../parts/task-link.tsx';
import { TaskState } from '../../parts/task-state.tsx';
import { SelectAll, SelectRow } from './select-boxes.tsx';
import { useOrderer } from '../../parts/use-orderer.ts';
import type { Selection } from './use-selection.ts';

interface TaskTableProps {
  readonly tasks: readonly TaskRow[];
  readonly compact: boolean;
  readonly order: string;
  /** Changes the order; absent if there is only one. */
  readonly onOrder?: ((order: string) => void) | undefined;
  /** Whether sorting by duration and cost is available. */
  readonly isRankable: boolean;
  /** Absent: rows can't be selected. */
  readonly selection?: Selection | undefined;
}

export function TaskTable({ tasks, compact, order, onOrder, isRankable, selection }: TaskTableProps) {
  const sorted = { order, onOrder };
  const ranked = { order, onOrder: isRankable ? onOrder : undefined };
  return (
    <Table.ScrollContainer minWidth={300}>
      <Table highlightOnHover horizontalSpacing="xs" verticalSpacing={compact ? 3 : 8}>
        <Table.Thead>
          <Table.Tr>
            {selection !== undefined && <SelectAll count={tasks.length} selection={selection} />}
            {!compact && <HiddenHead w={64}>Image</HiddenHead>}
            <Table.Th>Prompt</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th visibleFrom="lg">Model</Table.Th>
            <Table.Th visibleFrom="lg">Provider</Table.Th>
            <Table.Th visibleFrom="xl">Size</Table.Th>
            <Table.Th visibleFrom="sm">Key</Table.Th>
            <SortedHead {...ranked} down="longest" up="shortest" visibleFrom="md">
              Duration
            </SortedHead>
            <SortedHead {...ranked} down="costliest" up="cheapest" visibleFrom="sm">
              Cost
            </SortedHead>
            <SortedHead {...sorted} down="newest" up="oldest" visibleFrom="sm">
              Created
            </SortedHead>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {tasks.map((task) => (
            <Row key={task.id} task={task} compact={compact} selection={selection} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

interface SortedHeadProps extends Pick<TaskTableProps, 'order' | 'onOrder'> {
  /** The two orders of the column; the first click sorts descending. */
  readonly down: string;
  readonly up: string;
  readonly visibleFrom: 'sm' | 'md';
  readonly children: string;
}

/** The header of a sortable column. */
function SortedHead({ order, onOrder, down, up, visibleFrom, children }: SortedHeadProps) {
  const isSorted = order === down || order === up;
  const next = order === down ? up : down;
  return (
    <Table.Th
      ta="right"
      visibleFrom={visibleFrom}
      {...(isSorted && { 'aria-sort': order === up ? 'ascending' : 'descending' })}
    >
      {onOrder === undefined ? (
        children
      ) : (
        <UnstyledButton className="sort-button" onClick={() => onOrder(next)} title={`Show ${next} first`}>
          {isSorted && (order === up ? <IconArrowUp size={14} /> : <IconArrowDown size={14} />)}
          {children}
        </UnstyledButton>
      )}
    </Table.Th>
  );
}

interface RowProps extends Pick<TaskTableProps, 'compact' | 'selection'> {
  readonly task: TaskRow;
}

function Row({ task, compact, selection }: RowProps) {
  const reason = task.error?.message;
  const orderer = useOrderer()(task);
  return (
    <Table.Tr className="row-of-link" {...(selection?.ids.has(task.id) === true && { 'data-selected': true })}>
      {selection !== undefined && <SelectRow task={task} selection={selection} />}
      {!compact && (
        <Table.Td>
          <Thumbnail task={task} size={44} />
        </Table.Td>
      )}
      <Table.Td w="100%" miw={{ base: 120, sm: 130 }}>
        <Link
          to="/tasks/$id"
          params={{ id: task.id }}
          className="row-title row-opener"
          {...(compact && { style: { WebkitLineClamp: 1 } })}
        >
          {task.deleted_at === null ? task.prompt : 'Deleted task'}
        </Link>
        {reason !== undefined && (
          <Text size="xs" c="var(--mantine-color-error)" lineClamp={compact ? 1 : 2} title={reason}>
            {reason}
          </Text>
        )}
        {isWaiting(task) && (
          <Text size="xs" c="dimmed" className="numbers" style={{ overflowWrap: 'anywhere' }}>
            {waitText(task, Date.now())}
          </Text>
        )}
        <Group gap={6}>
          <Text size="xs" c="dimmed" hiddenFrom="sm">
            {fromNow(task.created_at)}
          </Text>
          <Text size="xs" c="dimmed" hiddenFrom="lg" style={{ overflowWrap: 'anywhere' }}>
            {task.model}
          </Text>
          {task.sandbox && (
            <Box hiddenFrom="lg" lh={1}>
              <SandboxMark small />
            </Box>
          )}
        </Group>
      </Table.Td>
      <Table.Td>
        <TaskState task={task} />
        {task.retried_as !== null && (
          // Above the row's link, because it opens another task.
          <Text size="xs" className="above-row">
            <TaskLink id={task.retried_as}>Retried</TaskLink>
          </Text>
        )}
      </Table.Td>
      <Table.Td maw={108} visibleFrom="lg">
        <Text size="sm" truncate title={task.model}>
          {task.model}
        </Text>
      </Table.Td>
      <Table.Td maw={108} visibleFrom="lg">
        {task.sandbox ? (
          <SandboxMark small />
        ) : (
          <Text size="sm" truncate {...(task.provider !== null && { title: task.provider })}>
            {task.provider ?? '–'}
          </Text>
        )}
      </Table.Td>
      <Table.Td visibleFrom="xl">
        <Text size="sm" className="nowrap">
          {dimensions(task.size)}
          {task.resolution !== null && (
            <Text span size="sm" c="dimmed">
              {' '}
              {task.resolution.toUpperCase()}
            </Text>
          )}
        </Text>
      </Table.Td>
      <Table.Td maw={130} visibleFrom="sm">
        <Text size="sm" truncate>
          {task.key.name}
          {compact && orderer !== null && (
            <Text span size="sm" c="dimmed">
              {' '}
              · {orderer}
            </Text>
          )}
        </Text>
        {!compact && orderer !== null && (
          <Text size="xs" c="dimmed" truncate>
            {orderer}
          </Text>
        )}
      </Table.Td>
      <Table.Td ta="right" visibleFrom="md">
        <Text size="sm" className="numbers nowrap">
          {task.finished_at === null
            ? '–'
            : duration(Math.max(0, Date.parse(task.finished_at) - Date.parse(task.created_at)))}
        </Text>
      </Table.Td>
      <Table.Td ta="right" visibleFrom="sm">
        {task.cost?.amount === null && task.finished_at !== null ? (
          <Link to="/tasks/$id" params={{ id: task.id }} className="row-time" title={NO_PRICE} tabIndex={-1}>
            {money(task.cost)}
          </Link>
        ) : (
          <Text size="sm" className="numbers" {...(task.cost === null && { c: 'dimmed' })}>
            {money(task.cost)}
          </Text>
        )}
      </Table.Td>
      <Table.Td ta="right" visibleFrom="sm">
        {/* Above the row's link, so that its tooltip with the exact time works. */}
        <Link
          to="/tasks/$id"
          params={{ id: task.id }}
          className="row-time"
          title={fullTime(task.created_at)}
          tabIndex={-1}
        >
          {fromNow(task.created_at)}
        </Link>
      </Table.Td>
    </Table.Tr>
  );
}
