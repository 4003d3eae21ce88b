import { useForm } from '@mantine/form';
import { useSession } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { peopleQuery } from '../../api/team-queries.ts';
import type { Person } from '../../api/team-types.ts';
import type { Role } from '../../api/types.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { INVITED_ROLES, RoleChoice, ROLE_PHRASES } from './role-choice.tsx';
import { useSave } from '../../parts/use-save.ts';

interface RoleFormProps {
  readonly person: Person;
  readonly onClose: () => void;
}

/** Changes a user's role; only owners can appoint owners. */
export function RoleForm({ person, onClose }: RoleFormProps) {
  const { person: me } = useSession();
  const form = useForm<{ role: Role }>({ initialValues: { role: person.role } });
  const save = useSave({
    send: ({ role }: typeof form.values) => send<Person>('PATCH', `/people/${person.id}`, { role }),
    stale: [peopleQuery],
    done: ({ name, role }) => `${name} is now ${ROLE_PHRASES[role]}.`,
    after: onClose,
  });
  return (
    <FormDialog
      title={`Change role of ${person.name}`}
      action="Change role"
      save={save}
      doing="Could not change the role"
      onSubmit={form.onSubmit((values) => save.mutate(values))}
      onClose={onClose}
    >
      <RoleChoice
        roles={me.role === 'owner' ? ['owner', ...INVITED_ROLES] : INVITED_ROLES}
        field={form.getInputProps('role')}
      />
    </FormDialog>
  );
}
