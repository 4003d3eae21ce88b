import { Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { queryClient } from '../../api/queries.ts';
import { RequestError, send } from '../../api/request.ts';
import { invitationsQuery } from '../../api/team-queries.ts';
import type { OneTimeLink } from '../../api/team-types.ts';
import type { Role } from '../../api/types.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { useLinkDelivery } from '../../parts/one-time-link.tsx';
import { addressesIn } from './addresses.ts';
import { INVITED_ROLES, RoleChoice } from './role-choice.tsx';
import { useSave } from '../../parts/use-save.ts';

/** What the server allows to be open at a time. */
const MAX_ADDRESSES = 100;

/** The outcome of inviting one address: its link, or why there is none. */
export type Invited = { readonly email: string } & (
  { readonly newLink: OneTimeLink } | { readonly newLink: null; readonly reason: string }
);

interface InviteFormProps {
  readonly onClose: () => void;
  readonly onCreated: (outcomes: readonly Invited[]) => void;
}

/** Invites one person, or everyone in a pasted list, with one role. */
export function InviteForm({ onClose, onCreated }: InviteFormProps) {
  const form = useForm<{ emails: string; role: Role }>({
    initialValues: { emails: '', role: 'member' },
    validate: { emails: problemOf },
  });
  const addresses = addressesIn(form.values.emails);
  const invite = useSave({
    send: ({ emails, role }: typeof form.values) => inviteAll(addressesIn(emails), role),
    after: onCreated,
  });
  return (
    <FormDialog
      title="Invite members"
      action={addresses.length > 1 ? `Create ${addresses.length} invitations` : 'Create invitation'}
      save={invite}
      doing="Could not create the invitation"
      ownRules
      onSubmit={form.onSubmit((values) => invite.mutate(values))}
      onClose={onClose}
    >
      <Textarea
        label="Email"
        description={`Used to sign in. ${useLinkDelivery()}. Paste several addresses to invite them all.`}
        required
        autosize
        minRows={1}
        maxRows={8}
        data-autofocus
        {...form.getInputProps('emails')}
      />
      <RoleChoice roles={INVITED_ROLES} field={form.getInputProps('role')} />
    </FormDialog>
  );
}

function problemOf(text: string): string | null {
  const addresses = addressesIn(text);
  const wrong = addresses.find((address) => !/^[^@\s]+@[^@\s]+$/.test(address));
  if (addresses.length === 0) return 'Enter an email address.';
  if (wrong !== undefined) return `${wrong} is not an email address.`;
  return addresses.length > MAX_ADDRESSES ? `Invite at most ${MAX_ADDRESSES} people at a time.` : null;
}

/** One after the other, so that a refusal concerns one address. A single one that fails is an error of the form. */
async function inviteAll(emails: readonly string[], role: Role): Promise<Invited[]> {
  const outcomes: Invited[] = [];
  try {
    for (const email of emails) outcomes.push(await inviteOne(email, role, emails.length === 1));
  } finally {
    await queryClient.invalidateQueries(invitationsQuery);
  }
  return outcomes;
}

async function inviteOne(email: string, role: Role, isOnly: boolean): Promise<Invited> {
  try {
    return { email, newLink: await send<OneTimeLink>('POST', '/people', { email, role }) };
  } catch (error) {
    if (isOnly || !(error instanceof RequestError)) throw error;
    return { email, newLink: null, reason: error.message };
  }
}
