import { Accordion, MultiSelect, NumberInput, Select, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery } from '@tanstack/react-query';
import { keysQuery, modelsQuery, queryClient } from '../../api/queries.ts';
import { RequestError, send } from '../../api/request.ts';
import type { ApiKey, BudgetPeriod, KeyScope, KeySettings, NewKey } from '../../api/types.ts';
import { BudgetFields } from '../../parts/budget-fields.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';

interface KeyFormProps {
  readonly existing?: ApiKey;
  readonly onClose: () => void;
  readonly onMade: (made: NewKey) => void;
}

/** What the fields hold; a number field that is empty holds ''. */
interface Fields {
  name: string;
  models: string[];
  scopes: string[];
  expires: string;
  budget: number | string;
  budget_period: BudgetPeriod;
  submits_per_minute: number | string;
  polls_per_minute: number | string;
  tasks_in_flight: number | string;
  weight: number | string;
  default_response_format: string;
  allow_pixel_size: boolean;
  submit_mode: 'sync' | 'apimart';
}

const SCOPES: { value: KeyScope; label: string }[] = [
  { value: 'images', label: 'Make pictures' },
  { value: 'tasks', label: 'Read tasks' },
  { value: 'chat', label: 'Chat' },
];
const isScope = (text: string): text is KeyScope => SCOPES.some(({ value }) => value === text);

/** Makes a key, or changes one. */
export function KeyForm({ existing, onClose, onMade }: KeyFormProps) {
  const models = useQuery(modelsQuery);
  const form = useForm<Fields>({
    initialValues: fieldsOf(existing),
    validate: { name: (value) => (value.trim() === '' ? 'Give it a name that says who uses it' : null) },
  });
  const save = useMutation({
    mutationFn: async (fields: Fields) =>
      existing === undefined
        ? await send<NewKey>('POST', '/keys', settingsOf(fields))
        : await send<ApiKey>('PATCH', `/keys/${existing.id}`, changesOf(existing, fields)),
    onSuccess: async (answer) => {
      await queryClient.invalidateQueries(keysQuery);
      if ('secret' in answer) {
        onMade(answer);
        return;
      }
      notifications.show({ color: 'green', message: 'The key is changed.' });
      onClose();
    },
    onError: (error) => {
      if (error instanceof RequestError && error.param !== null) form.setFieldError(error.param, error.message);
    },
  });
  return (
    <FormDialog
      title={existing === undefined ? 'Create a key' : `Edit ${existing.name}`}
      wide
      action={existing === undefined ? 'Create the key' : 'Save'}
      busy={save.isPending}
      error={save.error}
      doing="The key was not saved"
      onSubmit={form.onSubmit((fields) => {
        save.mutate(fields);
      })}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="Who or what uses it, such as “shop website”"
        required
        data-autofocus
        maxLength={100}
        {...form.getInputProps('name')}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <MultiSelect
          label="Models"
          placeholder={form.values.models.length === 0 ? 'Every model' : ''}
          data={models.data?.data.map(({ id }) => id) ?? []}
          clearable
          {...form.getInputProps('models')}
        />
        <MultiSelect
          label="May be used to"
          placeholder={form.values.scopes.length === 0 ? 'Everything' : ''}
          data={SCOPES}
          clearable
          {...form.getInputProps('scopes')}
        />
        <BudgetFields budget={form.getInputProps('budget')} period={form.getInputProps('budget_period')} />
        <TextInput label="Expires" type="date" min={today()} {...form.getInputProps('expires')} />
      </SimpleGrid>
      <Accordion variant="contained" radius="md">
        <Accordion.Item value="limits">
          <Accordion.Control>Limits and share</Accordion.Control>
          <Accordion.Panel>
            <SimpleGrid cols={{ base: 1, xs: 2 }}>
              <Limit field={form.getInputProps('submits_per_minute')} label="Requests per minute" />
              <Limit field={form.getInputProps('polls_per_minute')} label="Status reads per minute" />
              <Limit field={form.getInputProps('tasks_in_flight')} label="Tasks at the same time" />
              <NumberInput
                label="Weight"
                description="2 gets twice the turns of the account’s other keys"
                min={1}
                max={100}
                allowDecimal={false}
                inputWrapperOrder={['label', 'input', 'description', 'error']}
                {...form.getInputProps('weight')}
              />
            </SimpleGrid>
          </Accordion.Panel>
        </Accordion.Item>
        <Accordion.Item value="client">
          <Accordion.Control>Defaults for its client</Accordion.Control>
          <Accordion.Panel>
            <Stack gap="sm">
              <Select
                label="Pictures are answered as"
                description="LibreChat needs base64"
                allowDeselect={false}
                data={[
                  { value: '', label: 'The standard of each endpoint' },
                  { value: 'url', label: 'An address (url)' },
                  { value: 'b64_json', label: 'Base64 (b64_json)' },
                ]}
                {...form.getInputProps('default_response_format')}
              />
              <Select
                label="Requests are answered"
                description="APIMart clients expect a task at once"
                allowDeselect={false}
                data={[
                  { value: 'sync', label: 'With the picture (OpenAI)' },
                  { value: 'apimart', label: 'With a task to ask about (APIMart)' },
                ]}
                {...form.getInputProps('submit_mode')}
              />
              <Switch
                label="Take sizes in pixels, such as 1024x1024"
                description="Open WebUI and NextChat send them"
                {...form.getInputProps('allow_pixel_size', { type: 'checkbox' })}
              />
            </Stack>
          </Accordion.Panel>
        </Accordion.Item>
      </Accordion>
    </FormDialog>
  );
}

interface LimitProps {
  /** What ties it to its field of the form. */
  readonly field: object;
  readonly label: string;
}

function Limit({ field, label }: LimitProps) {
  return (
    <NumberInput
      label={label}
      description="Empty: the standard; 0: any number"
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      min={0}
      allowDecimal={false}
      {...field}
    />
  );
}

function fieldsOf(key?: ApiKey): Fields {
  return {
    name: key?.name ?? '',
    models: [...(key?.models ?? [])],
    scopes: [...(key?.scopes ?? [])],
    expires: key?.expires_at?.slice(0, 10) ?? '',
    budget: key?.budget?.amount ?? '',
    budget_period: key?.budget?.period ?? 'month',
    submits_per_minute: key?.submits_per_minute ?? '',
    polls_per_minute: key?.polls_per_minute ?? '',
    tasks_in_flight: key?.tasks_in_flight ?? '',
    weight: key?.weight ?? 1,
    default_response_format: key?.default_response_format ?? '',
    allow_pixel_size: key?.allow_pixel_size ?? false,
    submit_mode: key?.submit_mode ?? 'sync',
  };
}

function settingsOf(fields: Fields): KeySettings {
  const format = fields.default_response_format;
  return {
    name: fields.name.trim(),
    models: fields.models,
    scopes: fields.scopes.filter(isScope),
    weight: Number(fields.weight),
    submits_per_minute: numberOf(fields.submits_per_minute),
    polls_per_minute: numberOf(fields.polls_per_minute),
    tasks_in_flight: numberOf(fields.tasks_in_flight),
    budget: fields.budget === '' ? null : String(fields.budget),
    budget_period: fields.budget_period,
    // A key that expires on a day still works on that day, wherever it is read.
    expires_at: fields.expires === '' ? null : `${fields.expires}T23:59:59.000Z`,
    default_response_format: format === 'url' || format === 'b64_json' ? format : null,
    allow_pixel_size: fields.allow_pixel_size,
    submit_mode: fields.submit_mode,
  };
}

/** What was touched alone: the rest may have changed elsewhere meanwhile. */
function changesOf(key: ApiKey, fields: Fields): Partial<KeySettings> {
  const before = settingsOf(fieldsOf(key));
  const changes = Object.entries(settingsOf(fields)).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof KeySettings]),
  );
  const changed = Object.fromEntries(changes) as Partial<KeySettings>;
  // A budget and the time it counts for are one thing.
  if (!('budget' in changed) && !('budget_period' in changed)) return changed;
  return { ...changed, budget: settingsOf(fields).budget, budget_period: fields.budget_period };
}

const numberOf = (value: number | string): number | null => (value === '' ? null : Number(value));
const today = (): string => new Date().toISOString().slice(0, 10);
