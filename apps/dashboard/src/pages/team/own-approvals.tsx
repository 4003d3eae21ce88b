import { Button, Group, NumberInput, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { amountIn } from '#contract/money.js';
import { useSession } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { ownAccountQuery } from '../../api/team-queries.ts';
import type { OwnAccount } from '../../api/team-types.ts';
import { ApproveAboveField } from '../../parts/approve-above-field.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { currencySign } from '../../parts/format.ts';
import { AddItem, RemoveItem } from '../../parts/list-inputs.tsx';
import { useSave } from '../../parts/use-save.ts';

/** Above which prices requests of the account need an approval, and a dialog to change that. */
export function OwnApprovals({ account }: { readonly account: OwnAccount }) {
  const { currency } = useSession();
  const [changing, setChanging] = useState(false);
  const { approve_above: operators, own_approve_above: own, tag_approvals: tags } = account;
  const lines = [
    ...(own === null ? [] : [`Above ${amountIn(own, currency)}`]),
    ...tags.map(({ tag, above }) => `Tag “${tag}”: above ${amountIn(above, currency)}`),
    ...(operators === null ? [] : [`Above ${amountIn(operators, currency)}, set by the operator of this installation`]),
  ];
  return (
    <Group justify="space-between" align="flex-start" wrap="nowrap">
      <Stack gap={2}>
        {lines.length === 0 && <span>Not required, except for keys that need one</span>}
        {lines.map((line) => (
          <Text key={line} span inherit style={{ overflowWrap: 'anywhere' }}>
            {line}
          </Text>
        ))}
      </Stack>
      <Button variant="default" size="xs" onClick={() => setChanging(true)}>
        Change approvals
      </Button>
      {changing && <ApprovalsForm account={account} onClose={() => setChanging(false)} />}
    </Group>
  );
}

/** A blank amount is ''. */
interface Fields {
  above: number | string;
  tags: { id: number; tag: string; above: number | string }[];
}

let lastId = 0;
const tagFields = (tag: string, above: number | string) => ({ id: ++lastId, tag, above });

function ApprovalsForm({ account, onClose }: { readonly account: OwnAccount; readonly onClose: () => void }) {
  const { currency } = useSession();
  const form = useForm<Fields>({
    initialValues: {
      above: account.own_approve_above === null ? '' : Number(account.own_approve_above),
      tags: account.tag_approvals.map(({ tag, above }) => tagFields(tag, Number(above))),
    },
    validate: {
      tags: {
        tag: (tag) => (tag.trim() === '' || tag.includes(',') ? 'A tag has 1 to 64 characters, without commas' : null),
        above: (above) => (above === '' ? 'Enter a price' : null),
      },
    },
  });
  const save = useSave({
    send: ({ above, tags }: Fields) =>
      send('PATCH', '/account', {
        own_approve_above: above === '' ? null : String(above),
        tag_approvals: tags.map((one) => ({ tag: one.tag, above: String(one.above) })),
      }),
    stale: [ownAccountQuery],
    done: 'Approvals changed.',
    after: onClose,
  });
  return (
    <FormDialog
      title="Approvals above a price"
      action="Save"
      save={save}
      doing="Could not change the approvals"
      ownRules
      onSubmit={form.onSubmit((fields) => save.mutate(fields))}
      onClose={onClose}
    >
      <Text size="sm">
        The lowest price that applies to a request counts: that of its key, of the account, of one of its tags, or of
        the operator.
      </Text>
      <ApproveAboveField field={form.getInputProps('above')} blank="any price, unless another one applies" />
      {form.values.tags.map(({ id }, index) => (
        <Group key={id} align="flex-start" wrap="nowrap" gap="xs">
          <TextInput label="Tag" flex={1} maxLength={64} {...form.getInputProps(`tags.${index}.tag`)} />
          <NumberInput
            label="Above"
            flex={1}
            prefix={currencySign(currency)}
            min={0}
            decimalScale={6}
            thousandSeparator=","
            {...form.getInputProps(`tags.${index}.above`)}
          />
          <RemoveItem name={`tag ${index + 1}`} onClick={() => form.removeListItem('tags', index)} />
        </Group>
      ))}
      <Group>
        <AddItem onClick={() => form.insertListItem('tags', tagFields('', ''))}>Add tag</AddItem>
      </Group>
    </FormDialog>
  );
}
