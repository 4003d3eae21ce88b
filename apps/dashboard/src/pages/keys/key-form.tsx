import { Accordion, MultiSelect, Select, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { keysQuery, modelsQuery, useMay } from '../../api/queries.ts';
import { RequestError, send } from '../../api/request.ts';
import { ownAccountQuery } from '../../api/team-queries.ts';
import type { ApiKey, BudgetPeriod, KeyScope, KeySettings, NewKey } from '../../api/types.ts';
import { ApproveAboveField } from '../../parts/approve-above-field.tsx';
import { BudgetFields } from '../../parts/budget-fields.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { LimitField, WeightField } from '../../parts/limit-field.tsx';
import { hoursOf, LifetimeField, secondsOf } from '../../parts/lifetime-field.tsx';
import { ResponseFormatField, type ResponseFormatChoice } from '../../parts/response-format-field.tsx';
import { useSave } from '../../parts/use-save.ts';
import { EndUserFields } from './end-user-fields.tsx';

interface KeyFormProps {
  readonly existing?: ApiKey;
  readonly onClose: () => void;
  readonly onCreated: (newKey: NewKey) => void;
}

/** Values of the form; an empty number field is ''. */
interface Fields {
  name: string;
  models: string[];
  scopes: string[];
  tasks: 'all' | 'own';
  expires: string;
  budget: number | string;
  budget_period: BudgetPeriod;
  approve_above: number | string;
  submits_per_minute: number | string;
  polls_per_minute: number | string;
  tasks_in_flight: number | string;
  weight: number | string;
  default_response_format: ResponseFormatChoice;
  keep_hours: number | string;
  allow_pixel_size: '' | 'yes' | 'no';
  submit_mode: 'sync' | 'apimart';
  region: string;
  end_users: KeySettings['end_users'];
  tags: string[];
}

const SCOPES: { value: KeyScope; label: string }[] = [
  { value: 'images', label: 'Generate images' },
  { value: 'tasks', label: 'Read tasks' },
  { value: 'chat', label: 'Chat' },
  { value: 'approve', label: 'Approve requests' },
];
const isScope = (text: string): text is KeyScope => SCOPES.some(({ value }) => value === text);

/** Limits that a key and its account both have. */
const LIMITS = [
  ['submits_per_minute', 'Requests per minute'],
  ['polls_per_minute', 'Status checks per minute'],
  ['tasks_in_flight', 'Concurrent tasks'],
] as const;
/** Fields that only admins can set. */
const FOR_ADMINS: readonly string[] = [
  'budget',
  'budget_period',
  'approve_above',
  'weight',
  ...LIMITS.map(([name]) => name),
];

/** Creates or changes a key. */
export function KeyForm({ existing, onClose, onCreated }: KeyFormProps) {
  const models = useQuery(modelsQuery);
  const isAdmin = useMay()('keys.manage_all');
  // A new key is one's own; who made an existing one may be a member.
  const seesAccount = isAdmin && existing === undefined;
  const { data: account } = useQuery({ ...ownAccountQuery, enabled: isAdmin });
  const form = useForm<Fields>({
    initialValues: fieldsOf(existing),
    validate: { name: (value) => (value.trim() === '' ? 'Enter a name' : null) },
  });
  const save = useSave({
    send: async (fields: Fields) =>
      existing === undefined
        ? await send<NewKey>('POST', '/keys', isAdmin ? settingsOf(fields) : withoutLimits(settingsOf(fields)))
        : await send<ApiKey>('PATCH', `/keys/${existing.id}`, changesOf(existing, fields)),
    stale: [keysQuery],
    done: (answer) => ('secret' in answer ? undefined : 'Key updated.'),
    after: (answer) => ('secret' in answer ? onCreated(answer) : onClose()),
    onError: (error) => {
      if (error instanceof RequestError && error.param !== null) form.setFieldError(error.param, error.message);
    },
  });
  return (
    <FormDialog
      title={existing === undefined ? 'Create key' : `Edit ${existing.name}`}
      wide
      action={existing === undefined ? 'Create key' : 'Save'}
      save={save}
      doing="Could not save the key"
      onSubmit={form.onSubmit((fields) => save.mutate(fields))}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="Who or what uses this key, such as “shop website”"
        required
        data-autofocus
        maxLength={100}
        {...form.getInputProps('name')}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <MultiSelect
          label="Models"
          placeholder={form.values.models.length === 0 ? 'All models' : ''}
          data={models.data?.data.map(({ id }) => id) ?? []}
          clearable
          {...form.getInputProps('models')}
        />
        <MultiSelect
          label="Permissions"
          placeholder={form.values.scopes.length === 0 ? 'All' : ''}
          data={SCOPES}
          clearable
          {...form.getInputProps('scopes')}
        />
        <Select
          label="Tasks it can see"
          description="And cancel, with this key"
          allowDeselect={false}
          data={[
            { value: 'all', label: seesAccount ? 'All tasks of the account' : 'All tasks that its user sees' },
            { value: 'own', label: 'Only tasks of this key' },
          ]}
          {...form.getInputProps('tasks')}
        />
        {isAdmin && <BudgetFields budget={form.getInputProps('budget')} period={form.getInputProps('budget_period')} />}
        {isAdmin && <ApproveAboveField field={form.getInputProps('approve_above')} blank="as the account has it" />}
        <TextInput label="Expires" type="date" min={today()} {...form.getInputProps('expires')} />
      </SimpleGrid>
      <Accordion variant="contained" radius="md">
        {isAdmin && (
          <Accordion.Item value="limits">
            <Accordion.Control>Rate limits and priority</Accordion.Control>
            <Accordion.Panel>
              <SimpleGrid cols={{ base: 1, xs: 2 }}>
                {LIMITS.map(([name, label]) => (
                  <LimitField
                    key={name}
                    field={form.getInputProps(name)}
                    label={label}
                    usual={account?.key_defaults[name]}
                    most={account && (account.limits[name] ?? account.defaults[name])}
                  />
                ))}
                <WeightField field={form.getInputProps('weight')} others="the account’s other keys" />
              </SimpleGrid>
            </Accordion.Panel>
          </Accordion.Item>
        )}
        <Accordion.Item value="labels">
          <Accordion.Control>End users and tags</Accordion.Control>
          <Accordion.Panel>
            <EndUserFields
              mode={form.values.end_users}
              modeField={form.getInputProps('end_users')}
              tagsField={form.getInputProps('tags')}
            />
          </Accordion.Panel>
        </Accordion.Item>
        <Accordion.Item value="client">
          <Accordion.Control>Client compatibility</Accordion.Control>
          <Accordion.Panel>
            <Stack gap="sm">
              <ResponseFormatField field={form.getInputProps('default_response_format')} usual="account" />
              <LifetimeField field={form.getInputProps('keep_hours')} usual="account" />
              <Select
                label="Respond with"
                description="APIMart clients expect a task immediately"
                allowDeselect={false}
                data={[
                  { value: 'sync', label: 'Image (OpenAI)' },
                  { value: 'apimart', label: 'Task to poll (APIMart)' },
                ]}
                {...form.getInputProps('submit_mode')}
              />
              <TextInput
                label="Region"
                description="Only servers in this region serve the key; blank = any"
                placeholder="eu"
                maxLength={32}
                {...form.getInputProps('region')}
              />
              <Select
                label="Sizes in pixels, such as 1024x1024"
                description="Most OpenAI clients send them"
                allowDeselect={false}
                data={[
                  { value: '', label: 'Installation default' },
                  { value: 'yes', label: 'Accept' },
                  { value: 'no', label: 'Reject' },
                ]}
                {...form.getInputProps('allow_pixel_size')}
              />
            </Stack>
          </Accordion.Panel>
        </Accordion.Item>
      </Accordion>
    </FormDialog>
  );
}

function fieldsOf(key?: ApiKey): Fields {
  return {
    name: key?.name ?? '',
    models: [...(key?.models ?? [])],
    scopes: [...(key?.scopes ?? [])],
    tasks: key?.tasks ?? 'all',
    expires: key?.expires_at?.slice(0, 10) ?? '',
    budget: key?.budget ? Number(key.budget.amount) : '',
    budget_period: key?.budget?.period ?? 'month',
    approve_above: key?.approve_above ? Number(key.approve_above) : '',
    submits_per_minute: key?.submits_per_minute ?? '',
    polls_per_minute: key?.polls_per_minute ?? '',
    tasks_in_flight: key?.tasks_in_flight ?? '',
    weight: key?.weight ?? 1,
    default_response_format: key?.default_response_format ?? '',
    keep_hours: hoursOf(key?.keep_seconds),
    allow_pixel_size: answerOf(key?.allow_pixel_size ?? null),
    submit_mode: key?.submit_mode ?? 'sync',
    region: key?.region ?? '',
    end_users: key?.end_users ?? 'off',
    tags: [...(key?.tags ?? [])],
  };
}

function settingsOf(fields: Fields): KeySettings {
  return {
    name: fields.name.trim(),
    models: fields.models,
    scopes: fields.scopes.filter(isScope),
    tasks: fields.tasks,
    weight: Number(fields.weight),
    submits_per_minute: numberOf(fields.submits_per_minute),
    polls_per_minute: numberOf(fields.polls_per_minute),
    tasks_in_flight: numberOf(fields.tasks_in_flight),
    approve_above: fields.approve_above === '' ? null : String(fields.approve_above),
    budget: fields.budget === '' ? null : String(fields.budget),
    budget_period: fields.budget_period,
    // A key that expires on a day works until the end of that day, in UTC.
    expires_at: fields.expires === '' ? null : `${fields.expires}T23:59:59.000Z`,
    default_response_format: fields.default_response_format === '' ? null : fields.default_response_format,
    keep_seconds: secondsOf(fields.keep_hours),
    allow_pixel_size: fields.allow_pixel_size === '' ? null : fields.allow_pixel_size === 'yes',
    submit_mode: fields.submit_mode,
    region: fields.region.trim() === '' ? null : fields.region.trim(),
    end_users: fields.end_users,
    tags: fields.tags,
  };
}

function withoutLimits(settings: KeySettings): Partial<KeySettings> {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !FOR_ADMINS.includes(name)));
}

/** Only the changed fields: others may have changed elsewhere in the meantime. */
function changesOf(key: ApiKey, fields: Fields): Partial<KeySettings> {
  const before = settingsOf(fieldsOf(key));
  const changes = Object.entries(settingsOf(fields)).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof KeySettings]),
  );
  const changed = Object.fromEntries(changes) as Partial<KeySettings>;
  // A budget and its period are saved together.
  if (!('budget' in changed) && !('budget_period' in changed)) return changed;
  return { ...changed, budget: settingsOf(fields).budget, budget_period: fields.budget_period };
}

const answerOf = (value: boolean | null): Fields['allow_pixel_size'] => (value === null ? '' : value ? 'yes' : 'no');
const numberOf = (value: number | string): number | null => (value === '' ? null : Number(value));
const today = (): string => new Date().toISOString().slice(0, 10);
