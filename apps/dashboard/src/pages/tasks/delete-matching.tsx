import { Menu, Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { queryClient, useSession } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { WhatStays } from '../../parts/delete-tasks.tsx';
import { TypedConfirm } from '../../parts/typed-confirm.tsx';
import { useSave } from '../../parts/use-save.ts';
import { erasureOf, erasuresQuery, isForAll } from './erasures.ts';
import { countQuery, type TaskFilters } from './task-filters.ts';

interface DeleteItemProps {
  readonly filters: TaskFilters;
  readonly onClick: () => void;
}

/** The entry of the menu; only an owner deletes all tasks, or those of others without an end user or a tag. */
export function DeleteItem({ filters, onClick }: DeleteItemProps) {
  const { person } = useSession();
  const erasure = erasureOf(filters);
  const all = erasure !== undefined && isForAll(erasure);
  if (all && person.role !== 'owner') return null;
  const why = whyNot(erasure, person.role);
  return (
    <Menu.Item disabled={why !== undefined} onClick={onClick} maw={260}>
      {all ? 'Delete all tasks' : 'Delete matching tasks'}
      {why !== undefined && (
        <Text size="xs" c="dimmed">
          {why}
        </Text>
      )}
    </Menu.Item>
  );
}

function whyNot(erasure: ReturnType<typeof erasureOf>, role: string): string | undefined {
  if (erasure === undefined) return 'Works with the filters status, end user, tag, and end time only';
  const isNarrow = erasure.end_user !== undefined || erasure.tag !== undefined;
  return role === 'admin' && !isNarrow ? 'Only an owner can do this without the filter end user or tag' : undefined;
}

interface DeleteMatchingProps {
  readonly filters: TaskFilters;
  readonly onClose: () => void;
}

/** Deletes all tasks that match, after a confirmation that says how many, and what stays. */
export function DeleteMatching({ filters, onClose }: DeleteMatchingProps) {
  const { account } = useSession();
  const count = useQuery(countQuery(filters)).data;
  const erasure = erasureOf(filters) ?? {};
  const all = isForAll(erasure);
  const remove = useSave({
    send: () => send('POST', '/erasures', { ...erasure, ...(all && { all, name: account.name }) }),
    stale: [erasuresQuery],
    done: 'The tasks are being deleted.',
    after: () => {
      void queryClient.invalidateQueries({ queryKey: ['tasks'] });
      onClose();
    },
  });
  const number = count?.count?.toLocaleString('en') ?? '';
  const text = (
    <>
      {count === undefined ? (
        <Skeleton height={20} />
      ) : (
        <Text size="sm">
          This deletes {count.has_more ? `more than ${number}` : number} {number === '1' ? 'task' : 'tasks'}{' '}
          {all ? 'of this account, of all users and keys' : 'that match your filters'}, unless they are deleted already.
        </Text>
      )}
      <Text size="sm">
        <WhatStays arePending />
      </Text>
    </>
  );
  return all ? (
    <TypedConfirm
      title="Delete all tasks?"
      action="Delete all tasks"
      name={account.name}
      save={remove}
      onClose={onClose}
    >
      {text}
    </TypedConfirm>
  ) : (
    <Confirm opened title="Delete matching tasks?" action="Delete tasks" save={remove} onClose={onClose}>
      {text}
    </Confirm>
  );
}
