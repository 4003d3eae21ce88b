import { SimpleGrid, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { send } from '../../api/request.ts';
import { accountsQuery } from '../../api/team-queries.ts';
import type { AccountRow, NewAccount, OneTimeLink } from '../../api/team-types.ts';
import type { BudgetPeriod } from '../../api/types.ts';
import { BudgetFields } from '../../parts/budget-fields.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { useLinkDelivery } from '../../parts/one-time-link.tsx';
import { useSave } from '../../parts/use-save.ts';

interface AccountFormProps {
  readonly onClose: () => void;
  readonly onCreated: (account: AccountRow, email: string, newLink: OneTimeLink) => void;
}

interface Fields {
  name: string;
  email: string;
  budget: number | string;
  budget_period: BudgetPeriod;
}

export function AccountForm({ onClose, onCreated }: AccountFormProps) {
  const form = useForm<Fields>({ initialValues: { name: '', email: '', budget: '', budget_period: 'month' } });
  const create = useSave({
    send: ({ name, email, budget, budget_period }: Fields) =>
      send<NewAccount>('POST', '/accounts', {
        name: name.trim(),
        email: email.trim(),
        ...(budget === '' ? {} : { budget: String(budget), budget_period }),
      }),
    stale: [accountsQuery],
    after: (newAccount, { email }) => onCreated(newAccount.account, email.trim(), newAccount),
  });
  return (
    <FormDialog
      title="Create account"
      wide
      action="Create account"
      save={create}
      doing="Could not create the account"
      onSubmit={form.onSubmit((fields) => create.mutate(fields))}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="The team, customer, or project it is for"
        required
        data-autofocus
        maxLength={100}
        {...form.getInputProps('name')}
      />
      <TextInput
        label="Owner email"
        description={useLinkDelivery()}
        type="email"
        required
        {...form.getInputProps('email')}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <BudgetFields budget={form.getInputProps('budget')} period={form.getInputProps('budget_period')} />
      </SimpleGrid>
    </FormDialog>
  );
}
