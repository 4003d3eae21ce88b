import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { send } from '../../api/request.ts';
import { invitationsQuery } from '../../api/team-queries.ts';
import type { OneTimeLink } from '../../api/team-types.ts';
import type { Role } from '../../api/types.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { useLinkDelivery } from '../../parts/one-time-link.tsx';
import { INVITED_ROLES, RoleChoice } from './role-choice.tsx';
import { useSave } from '../../parts/use-save.ts';

interface InviteFormProps {
  readonly onClose: () => void;
  readonly onCreated: (email: string, newLink: OneTimeLink) => void;
}

export function InviteForm({ onClose, onCreated }: InviteFormProps) {
  const form = useForm<{ email: string; role: Role }>({ initialValues: { email: '', role: 'member' } });
  const invite = useSave({
    send: ({ email, role }: typeof form.values) => send<OneTimeLink>('POST', '/people', { email: email.trim(), role }),
    stale: [invitationsQuery],
    after: (newLink, { email }) => onCreated(email.trim(), newLink),
  });
  return (
    <FormDialog
      title="Invite member"
      action="Create invitation"
      save={invite}
      doing="Could not create the invitation"
      onSubmit={form.onSubmit((values) => invite.mutate(values))}
      onClose={onClose}
    >
      <TextInput
        label="Email"
        description={`Used to sign in. ${useLinkDelivery()}.`}
        type="email"
        required
        data-autofocus
        {...form.getInputProps('email')}
      />
      <RoleChoice roles={INVITED_ROLES} field={form.getInputProps('role')} />
    </FormDialog>
  );
}
