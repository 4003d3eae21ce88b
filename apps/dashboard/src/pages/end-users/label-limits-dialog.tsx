import { Group, NumberInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { END_USER_VIEWS, type LabelLimit } from '../../api/end-users.ts';
import { useSession } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { currencySign } from '../../parts/format.ts';
import { AddItem, RemoveItem } from '../../parts/list-inputs.tsx';
import { useSave } from '../../parts/use-save.ts';

const WHOSE = [
  { value: 'each end_user', label: 'Each end user' },
  { value: 'end_user', label: 'One end user' },
  { value: 'each tag', label: 'Each tag' },
  { value: 'tag', label: 'One tag' },
] as const;
type Whose = (typeof WHOSE)[number]['value'];

const MAX_LIMITS = 100;

/** Blank: any number or amount. */
interface LimitFields {
  readonly id: number;
  whose: Whose;
  name: string;
  requests: number | string;
  tasks: number | string;
  budget: number | string;
  weight: number | string;
}

interface Fields {
  limits: LimitFields[];
}

const NEW_LIMIT: LabelLimit = {
  kind: 'end_user',
  name: null,
  requests_per_minute: null,
  tasks_in_flight: null,
  monthly_budget: null,
  weight: null,
};

let lastId = 0;

function fieldsOf({ kind, name, weight, ...limit }: LabelLimit): LimitFields {
  return {
    id: ++lastId,
    whose: name === null ? `each ${kind}` : kind,
    name: name ?? '',
    requests: limit.requests_per_minute ?? '',
    tasks: limit.tasks_in_flight ?? '',
    budget: limit.monthly_budget === null ? '' : Number(limit.monthly_budget),
    weight: weight ?? '',
  };
}

function limitOf({ whose, name, requests, tasks, budget, weight }: LimitFields): LabelLimit {
  return {
    kind: whose.endsWith('tag') ? 'tag' : 'end_user',
    name: isEach(whose) ? null : name.trim(),
    requests_per_minute: requests === '' ? null : Number(requests),
    tasks_in_flight: tasks === '' ? null : Number(tasks),
    monthly_budget: budget === '' ? null : String(budget),
    weight: weight === '' ? null : Number(weight),
  };
}

function isEach(whose: Whose): boolean {
  return whose.startsWith('each');
}

interface LabelLimitsDialogProps {
  readonly limits: readonly LabelLimit[];
  readonly onClose: () => void;
}

/** Sets what end users and tags are limited to. */
export function LabelLimitsDialog({ limits, onClose }: LabelLimitsDialogProps) {
  const form = useForm<Fields>({
    initialValues: { limits: limits.map(fieldsOf) },
    validate: {
      limits: {
        name: (name, { limits: all }, path) => {
          const { whose = 'each tag' } = all[Number(path.split('.')[1])] ?? {};
          return isEach(whose) || name.trim() !== '' ? null : 'Enter a name';
        },
      },
    },
  });
  const save = useSave({
    send: ({ limits: all }: Fields) => send('PUT', '/end-users/limits', { limits: all.map(limitOf) }),
    stale: END_USER_VIEWS,
    done: 'Limits updated.',
    after: onClose,
  });
  const add = () => form.insertListItem('limits', fieldsOf(NEW_LIMIT));
  return (
    <FormDialog
      title="Limits of end users and tags"
      action="Save"
      save={save}
      doing="Could not save the limits"
      ownRules
      onSubmit={form.onSubmit((fields) => save.mutate(fields))}
      onClose={onClose}
    >
      <Text size="sm">
        These limits apply in addition to those of the API key and the account. An end user or tag listed by name has
        only its own limits. A blank field means no limit. With a queue weight, it takes turns like a key of that
        weight.
      </Text>
      {form.values.limits.map(({ id, whose }, index) => (
        <Limit
          key={id}
          number={index + 1}
          isNamed={!isEach(whose)}
          input={(field) => form.getInputProps(`limits.${index}.${field}`)}
          onRemove={() => form.removeListItem('limits', index)}
        />
      ))}
      {form.values.limits.length < MAX_LIMITS && (
        <Group>
          <AddItem onClick={add}>Add limit</AddItem>
        </Group>
      )}
    </FormDialog>
  );
}

interface LimitProps {
  readonly number: number;
  readonly isNamed: boolean;
  readonly input: (field: keyof LimitFields) => object;
  readonly onRemove: () => void;
}

function Limit({ number, isNamed, input, onRemove }: LimitProps) {
  const { currency } = useSession();
  return (
    <Stack component="fieldset" gap="xs" p="sm" m={0} aria-label={`Limit ${number}`}>
      <Group align="flex-start" wrap="nowrap" gap="xs">
        <Select label="Whose" flex={1} data={[...WHOSE]} allowDeselect={false} {...input('whose')} />
        {isNamed && <TextInput label="Name" description="As recorded" flex={1} maxLength={64} {...input('name')} />}
        <RemoveItem name={`limit ${number}`} onClick={onRemove} />
      </Group>
      <Group align="flex-start" gap="xs">
        <NumberInput label="Requests per minute" flex={1} min={1} allowDecimal={false} {...input('requests')} />
        <NumberInput label="Tasks in flight" flex={1} min={1} max={1_000} allowDecimal={false} {...input('tasks')} />
        <NumberInput
          label="Budget per month"
          flex={1}
          prefix={currencySign(currency)}
          min={0}
          decimalScale={6}
          thousandSeparator=","
          {...input('budget')}
        />
        <NumberInput label="Queue weight" flex={1} min={1} max={100} allowDecimal={false} {...input('weight')} />
      </Group>
    </Stack>
  );
}
