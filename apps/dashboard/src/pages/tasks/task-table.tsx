import { Table, Text, UnstyledButton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import type { TaskRow } from '../../api/types.ts';
import { dimensions, duration, fromNow, fullTime, money } from '../../parts/format.ts';
import { HiddenHead } from '../../parts/hidden-head.tsx';
import { Thumbnail } from '../../parts/stored-image.tsx';
import { TaskState } from '../../parts/task-state.tsx';

interface TaskTableProps {
  readonly tasks: readonly TaskRow[];
  readonly compact: boolean;
  readonly isOldestFirst: boolean;
  /** Turns the order round; undefined where it can't be. */
  readonly onTurn: (() => void) | undefined;
}

export function TaskTable({ tasks, compact, isOldestFirst, onTurn }: TaskTableProps) {
  const arrow = isOldestFirst ? <IconArrowUp size={14} /> : <IconArrowDown size={14} />;
  return (
    <Table.ScrollContainer minWidth={300}>
      <Table highlightOnHover horizontalSpacing="md" verticalSpacing={compact ? 3 : 8}>
        <Table.Thead>
          <Table.Tr>
            {!compact && <HiddenHead w={64}>Image</HiddenHead>}
            <Table.Th>Prompt</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th visibleFrom="lg">Provider</Table.Th>
            <Table.Th visibleFrom="md">Size</Table.Th>
            <Table.Th visibleFrom="sm">Key</Table.Th>
            <Table.Th ta="right" visibleFrom="md">
              Duration
            </Table.Th>
            <Table.Th ta="right" visibleFrom="sm">
              Cost
            </Table.Th>
            <Table.Th ta="right" visibleFrom="sm" aria-sort={isOldestFirst ? 'ascending' : 'descending'}>
              {onTurn === undefined ? (
                'Created'
              ) : (
                <UnstyledButton
                  className="sort-button"
                  onClick={onTurn}
                  title={isOldestFirst ? 'Show newest first' : 'Show oldest first'}
                >
                  Created {arrow}
                </UnstyledButton>
              )}
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {tasks.map((task) => (
            <Row key={task.id} task={task} compact={compact} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Row({ task, compact }: { readonly task: TaskRow; readonly compact: boolean }) {
  const reason = task.error?.message;
  return (
    <Table.Tr>
      {!compact && (
        <Table.Td>
          <Thumbnail task={task} size={44} />
        </Table.Td>
      )}
      <Table.Td maw={340}>
        <Link
          to="/tasks/$id"
          params={{ id: task.id }}
          className="row-title"
          {...(compact && { style: { WebkitLineClamp: 1 } })}
        >
          {task.prompt}
        </Link>
        {reason !== undefined && (
          <Text size="xs" c="var(--mantine-color-error)" lineClamp={compact ? 1 : 2} title={reason}>
            {reason}
          </Text>
        )}
        <Text size="xs" c="dimmed" hiddenFrom="sm">
          {fromNow(task.created_at)}
        </Text>
      </Table.Td>
      <Table.Td>
        <TaskState task={task} />
      </Table.Td>
      <Table.Td maw={140} visibleFrom="lg">
        <Text size="sm" truncate>
          {task.provider ?? '–'}
        </Text>
      </Table.Td>
      <Table.Td visibleFrom="md">
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
      <Table.Td maw={160} visibleFrom="sm">
        <Text size="sm" truncate>
          {task.key.name}
        </Text>
      </Table.Td>
      <Table.Td ta="right" visibleFrom="md">
        <Text size="sm" className="numbers nowrap">
          {task.finished_at === null
            ? '–'
            : duration(Math.max(0, Date.parse(task.finished_at) - Date.parse(task.created_at)))}
        </Text>
      </Table.Td>
      <Table.Td ta="right" visibleFrom="sm">
        <Text size="sm" className="numbers">
          {money(task.cost)}
        </Text>
      </Table.Td>
      <Table.Td ta="right" visibleFrom="sm">
        <Text size="sm" className="nowrap" title={fullTime(task.created_at)}>
          {fromNow(task.created_at)}
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}
