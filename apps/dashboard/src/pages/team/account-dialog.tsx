import { SimpleGrid, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { queryClient, sessionQuery } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { accountsQuery, ownAccountQuery } from '../../api/team-queries.ts';
import type { AccountChange, AccountRow, OneTimeLink } from '../../api/team-types.ts';
import type { BudgetPeriod } from '../../api/types.ts';
import { BudgetFields } from '../../parts/budget-fields.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { useLinkDelivery } from '../../parts/one-time-link.tsx';
import { RenameForm } from '../../parts/rename-form.tsx';
import { DeleteAccount } from './delete-account.tsx';
import { AccountLimits } from './account-limits.tsx';
import { OPERATES } from './role-choice.tsx';
import { useSave } from '../../parts/use-save.ts';

export interface AccountAct {
  readonly kind: 'rename' | 'limits' | 'budget' | 'invite' | 'disable' | 'enable' | 'delete';
  readonly account: AccountRow;
}

interface AccountDialogProps {
  readonly act: AccountAct;
  readonly onClose: () => void;
  readonly onLink: (account: AccountRow, email: string, newLink: OneTimeLink) => void;
}

/** The actions of an operator on an account. */
export function AccountDialog({ act: { kind, account }, onClose, onLink }: AccountDialogProps) {
  if (kind === 'limits') {
    return <AccountLimits account={account} onSave={(changes) => change(account, changes)} onClose={onClose} />;
  }
  if (kind === 'delete') return <DeleteAccount account={account} onClose={onClose} />;
  if (kind === 'budget') return <BudgetForm account={account} onClose={onClose} />;
  if (kind === 'invite') return <InviteAdmin account={account} onClose={onClose} onLink={onLink} />;
  if (kind === 'disable' || kind === 'enable') {
    return <SwitchAccount account={account} disable={kind === 'disable'} onClose={onClose} />;
  }
  return (
    <RenameForm
      title="Rename account"
      name={account.name}
      onSave={(name) => change(account, { name })}
      onClose={onClose}
    />
  );
}

async function change({ id }: AccountRow, changes: AccountChange): Promise<void> {
  await send('PATCH', `/accounts/${id}`, changes);
  // It may be the operator's own account.
  await Promise.all(
    [accountsQuery, ownAccountQuery, sessionQuery].map(({ queryKey }) => queryClient.invalidateQueries({ queryKey })),
  );
}

interface OneProps {
  readonly account: AccountRow;
  readonly onClose: () => void;
}

function BudgetForm({ account, onClose }: OneProps) {
  const form = useForm<{ budget: number | string; period: BudgetPeriod }>({
    initialValues: {
      budget: account.budget === null ? '' : Number(account.budget.amount),
      period: account.budget?.period ?? 'month',
    },
  });
  const save = useSave({
    send: ({ budget, period }: typeof form.values) =>
      change(account, budget === '' ? { budget: null } : { budget: String(budget), budget_period: period }),
    after: onClose,
  });
  return (
    <FormDialog
      title={`Budget for ${account.name}`}
      action="Save"
      save={save}
      doing="Could not change the budget"
      onSubmit={form.onSubmit((values) => save.mutate(values))}
      onClose={onClose}
    >
      <Text size="sm">
        All keys of the account together can spend up to this amount. Earlier spend counts. Leave blank for no limit.
      </Text>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <BudgetFields budget={form.getInputProps('budget')} period={form.getInputProps('period')} />
      </SimpleGrid>
    </FormDialog>
  );
}

function InviteAdmin({ account, onClose, onLink }: OneProps & Pick<AccountDialogProps, 'onLink'>) {
  const form = useForm({ initialValues: { email: '' } });
  const invite = useSave({
    send: ({ email }: typeof form.values) =>
      send<OneTimeLink>('POST', `/accounts/${account.id}/admins`, { email: email.trim() }),
    after: (newLink, { email }) => onLink(account, email.trim(), newLink),
  });
  return (
    <FormDialog
      title={`Invite ${account.admins === 0 ? 'owner' : 'admin'} to ${account.name}`}
      action="Create invitation"
      save={invite}
      doing="Could not create the invitation"
      onSubmit={form.onSubmit((values) => invite.mutate(values))}
      onClose={onClose}
    >
      {account.first && <Text size="sm">{OPERATES}.</Text>}
      <TextInput
        label="Email"
        description={useLinkDelivery()}
        type="email"
        required
        data-autofocus
        {...form.getInputProps('email')}
      />
    </FormDialog>
  );
}

function SwitchAccount({ account, disable, onClose }: OneProps & { readonly disable: boolean }) {
  const apply = useSave({
    send: () => change(account, { disabled: disable }),
    done: `${account.name} is ${disable ? 'disabled' : 'enabled'}.`,
    after: onClose,
  });
  return (
    <Confirm
      opened
      title={`${disable ? 'Disable' : 'Enable'} ${account.name}?`}
      action={disable ? 'Disable account' : 'Enable account'}
      harmless={!disable}
      save={apply}
      onClose={onClose}
    >
      {disable
        ? 'Its members are signed out immediately and can’t sign in; its keys are rejected within 10 seconds (HTTP 403). Tasks already accepted will finish. Nothing is deleted.'
        : 'Its members can sign in again, and its keys work again within 10 seconds.'}
    </Confirm>
  );
}
