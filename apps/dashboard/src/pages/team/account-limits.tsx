import { SimpleGrid, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import {
  ACCOUNT_LIMITS,
  ACCOUNT_LIMIT_NAMES,
  eachAccountLimit,
  type AccountLimitName,
} from '#contract/account-limits.js';
import type { AccountChange, AccountRow } from '../../api/team-types.ts';
import { ApproveAboveField } from '../../parts/approve-above-field.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { hoursOf, LifetimeField, secondsOf } from '../../parts/lifetime-field.tsx';
import { LimitField, WeightField } from '../../parts/limit-field.tsx';
import { ResponseFormatField, type ResponseFormatChoice } from '../../parts/response-format-field.tsx';
import { useSave } from '../../parts/use-save.ts';

interface AccountLimitsProps {
  readonly account: AccountRow;
  readonly onSave: (changes: AccountChange) => Promise<void>;
  readonly onClose: () => void;
}

/** A blank field is ''. */
type Fields = Record<AccountLimitName | 'weight' | 'keep_hours' | 'approve_above', number | string> & {
  default_response_format: ResponseFormatChoice;
};

/** Limits across all keys of an account. */
export function AccountLimits({ account, onSave, onClose }: AccountLimitsProps) {
  const { limits, defaults } = account;
  const form = useForm<Fields>({
    initialValues: {
      weight: limits.weight,
      ...eachAccountLimit((name) => limits[name] ?? ''),
      approve_above: account.approve_above === null ? '' : Number(account.approve_above),
      default_response_format: account.default_response_format ?? '',
      keep_hours: hoursOf(account.keep_seconds),
    },
  });
  const save = useSave({ send: (fields: Fields) => onSave(changesOf(account, fields)), after: onClose });
  return (
    <FormDialog
      title={`Rate limits and priority for ${account.name}`}
      wide
      action="Save"
      save={save}
      doing="Could not change the limits"
      onSubmit={form.onSubmit((fields) => save.mutate(fields))}
      onClose={onClose}
    >
      <Text size="sm">
        These limits apply to all keys of the account together. Its owners and admins set the limits of each key, which
        can’t exceed these.
      </Text>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {ACCOUNT_LIMIT_NAMES.map((name) => (
          <LimitField
            key={name}
            field={form.getInputProps(name)}
            label={ACCOUNT_LIMITS[name].label}
            usual={defaults[name]}
          />
        ))}
        <WeightField field={form.getInputProps('weight')} others="other accounts" />
        <ApproveAboveField
          field={form.getInputProps('approve_above')}
          blank="no approvals, except for keys that need one"
        />
        <ResponseFormatField field={form.getInputProps('default_response_format')} usual="installation" />
        <LifetimeField field={form.getInputProps('keep_hours')} usual="installation" />
      </SimpleGrid>
    </FormDialog>
  );
}

/** Only the changed fields: others may have changed elsewhere, and the audit log records what was set. */
function changesOf(
  { limits, default_response_format, keep_seconds, approve_above: above }: AccountRow,
  fields: Fields,
): AccountChange {
  const approve_above = above === null ? null : String(Number(above));
  const before = { ...limits, default_response_format, keep_seconds, approve_above };
  const after = {
    weight: fields.weight === '' ? 1 : Number(fields.weight),
    ...eachAccountLimit((name) => (fields[name] === '' ? null : Number(fields[name]))),
    approve_above: fields.approve_above === '' ? null : String(fields.approve_above),
    default_response_format: fields.default_response_format === '' ? null : fields.default_response_format,
    keep_seconds: secondsOf(fields.keep_hours),
  };
  return Object.fromEntries(
    Object.entries(after).filter(([name, value]) => value !== before[name as keyof typeof before]),
  );
}
