import { Checkbox, List } from '@mantine/core';
import { useState } from 'react';
import { keysQuery } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { peopleQuery } from '../../api/team-queries.ts';
import type { Person } from '../../api/team-types.ts';
import { TypedConfirm } from '../../parts/typed-confirm.tsx';
import { useSave } from '../../parts/use-save.ts';

interface DeletePersonProps {
  readonly person: Person;
  readonly onClose: () => void;
}

/** Deletes a user, after showing what is deleted and what stays. */
export function DeletePerson({ person, onClose }: DeletePersonProps) {
  const [revokeKeys, setRevokeKeys] = useState(true);
  const remove = useSave({
    send: () => send('POST', `/people/${person.id}/delete`, { name: person.name, revoke_keys: revokeKeys }),
    stale: [peopleQuery, keysQuery],
    done: `${person.name} is deleted.`,
    after: onClose,
  });
  return (
    <TypedConfirm
      title={`Delete ${person.name}?`}
      action="Delete user"
      name={person.name}
      save={remove}
      onClose={onClose}
    >
      <List size="sm">
        <List.Item>
          Deleted: their email address, password, single sign-on, two-factor authentication, recovery codes, passkeys,
          sessions, and unused links. They are signed out immediately.
        </List.Item>
        <List.Item>If they also use other accounts, their sign-in stays for those.</List.Item>
        <List.Item>Kept: their tasks, the usage of their keys, and their name in the audit log.</List.Item>
      </List>
      <Checkbox
        label="Revoke the keys they created"
        description="Otherwise these keep working for the account"
        checked={revokeKeys}
        onChange={(event) => setRevokeKeys(event.currentTarget.checked)}
      />
    </TypedConfirm>
  );
}
