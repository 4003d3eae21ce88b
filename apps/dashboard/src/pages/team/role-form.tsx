import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { queryClient, useSession } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { peopleQuery } from '../../api/team-queries.ts';
import type { Person } from '../../api/team-types.ts';
import type { Role } from '../../api/types.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { INVITED_ROLES, RoleChoice, ROLE_PHRASES } from './role-choice.tsx';

interface RoleFormProps {
  readonly person: Person;
  readonly onClose: () => void;
}

/** Changes a user's role; only owners can appoint owners. */
export function RoleForm({ person, onClose }: RoleFormProps) {
  const { person: me } = useSession();
  const form = useForm<{ role: Role }>({ initialValues: { role: person.role } });
  const save = useMutation({
    mutationFn: ({ role }: typeof form.values) => send<Person>('PATCH', `/people/${person.id}`, { role }),
    onSuccess: async ({ name, role }) => {
      await queryClient.invalidateQueries(peopleQuery);
      notifications.show({ color: 'green', message: `${name} is now ${ROLE_PHRASES[role]}.` });
      onClose();
    },
  });
  return (
    <FormDialog
      title={`Change role of ${person.name}`}
      action="Change role"
      busy={save.isPending}
      error={save.error}
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
