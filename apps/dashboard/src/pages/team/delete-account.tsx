import { List } from '@mantine/core';
import { send } from '../../api/request.ts';
import { accountsQuery } from '../../api/team-queries.ts';
import type { AccountRow } from '../../api/team-types.ts';
import { TypedConfirm } from '../../parts/typed-confirm.tsx';
import { useSave } from '../../parts/use-save.ts';

interface DeleteAccountProps {
  readonly account: AccountRow;
  readonly onClose: () => void;
}

/** Deletes an account, after showing what is deleted and what stays. */
export function DeleteAccount({ account, onClose }: DeleteAccountProps) {
  const { id, name, people, keys, tasks_in_flight: pending } = account;
  const remove = useSave({
    send: () => send('POST', `/accounts/${id}/delete`, { name }),
    stale: [accountsQuery],
    done: `${name} is deleted.`,
    after: onClose,
  });
  return (
    <TypedConfirm title={`Delete ${name}?`} action="Delete account" name={name} save={remove} onClose={onClose}>
      <List size="sm" spacing="xs">
        <List.Item>
          Deleted now: {people} {people === 1 ? 'member' : 'members'}, invitations, webhook endpoints, and signing
          secrets.
        </List.Item>
        <List.Item>
          Rejected within 10 seconds: {keys} {keys === 1 ? 'key' : 'keys'}.
        </List.Item>
        <List.Item>
          Canceled: {pending} pending {pending === 1 ? 'task' : 'tasks'}. Providers may still charge for calls in
          progress.
        </List.Item>
        <List.Item>Deleted when their retention ends: tasks and images, including favorites.</List.Item>
        <List.Item>Kept: charges, usage, and the audit log.</List.Item>
      </List>
    </TypedConfirm>
  );
}
