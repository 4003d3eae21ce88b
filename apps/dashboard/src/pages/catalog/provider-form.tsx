import { Accordion, Group, JsonInput, NumberInput, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useForm, type UseFormReturnType } from '@mantine/form';
import { CATALOG_VIEWS, type CatalogProvider, type ProviderType, type ReadCatalog } from '../../api/catalog.ts';
import { RequestError, send } from '../../api/request.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { AddItem, RemoveItem } from '../../parts/list-inputs.tsx';
import { PasswordField } from '../../parts/password-field.tsx';
import { ConnectionCheck } from './connection-check.tsx';
import { NAME_RULE, nameProblem, ReplacedNote, replacedBy } from './entry-name.tsx';
import { OptionInput } from './option-input.tsx';
import { OptionError, optionFields } from './options.ts';
import { hasNoPath, MISSING_PATH } from '../operation/base-url.ts';
import { needsKeysAgain, providerChange, providerFields, type ProviderFields } from './provider-fields.ts';
import { useSave } from '../../parts/use-save.ts';

interface ProviderFormProps {
  readonly catalog: ReadCatalog;
  readonly existing?: CatalogProvider;
  /** The built-in model that the new provider is added for. */
  readonly forModel?: string;
  /** Called with the name of a new provider. */
  readonly onAdded: (name: string) => void;
  readonly onClose: () => void;
}

type Form = UseFormReturnType<ProviderFields>;

/** Adds or changes a provider of the console. Its type determines the fields. */
export function ProviderForm({ catalog, existing, forModel, onAdded, onClose }: ProviderFormProps) {
  const form = useForm<ProviderFields>({
    initialValues: providerFields(existing),
    validate: { name: nameProblem },
  });
  const type = catalog.types.find((one) => one.type === form.values.type);
  const changeOf = (fields: ProviderFields) => providerChange(fields, type?.options ?? {});
  const markFields = (error: Error) => {
    if (error instanceof OptionError)
      form.setFieldError(error.option === 'servers' ? 'servers' : `options.${error.option}`, error.message);
    if (isOfAddress(error)) form.setFieldError('base_url', ADDRESS_RULE);
    else if (error instanceof RequestError && error.param?.startsWith('servers') === true)
      form.setFieldError('servers', error.message);
    else if (error instanceof RequestError && error.param !== null) form.setFieldError(error.param, error.message);
  };
  const save = useSave({
    send: (fields: ProviderFields) =>
      send('PUT', `/catalog/providers/${encodeURIComponent(fields.name.trim())}`, {
        revision: catalog.revision,
        ...changeOf(fields),
      }),
    stale: CATALOG_VIEWS,
    done: () => (existing === undefined ? undefined : 'Provider updated.'),
    after: (_, { name }) => (existing === undefined ? onAdded(name.trim()) : onClose()),
    onError: markFields,
  });
  const taken = existing ? undefined : replacedBy(catalog.providers, form.values.name);
  return (
    <FormDialog
      title={existing === undefined ? 'Add provider' : `Edit “${existing.name}”`}
      wide
      ownRules
      action={existing === undefined ? 'Add provider' : 'Save'}
      save={save}
      isToldAtField={isOfAddress}
      doing="Could not save the provider"
      onSubmit={form.onSubmit((fields) => save.mutate(fields))}
      onClose={onClose}
    >
      {forModel !== undefined && (
        <Text size="sm">First add the provider that should serve “{forModel}”. Its route comes next.</Text>
      )}
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <Select
          label="Type"
          allowDeselect={false}
          data={catalog.types.map(({ type: value, title: label }) => ({ value, label }))}
          {...form.getInputProps('type')}
        />
        <TextInput
          label="Name"
          description={`Shown in logs. ${NAME_RULE}`}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          required
          data-autofocus={existing === undefined || undefined}
          maxLength={100}
          disabled={existing !== undefined}
          {...form.getInputProps('name')}
        />
      </SimpleGrid>
      {taken && <ReplacedNote kind="provider" replaced={taken} />}
      {type !== undefined && hasAddress(type) && (
        <Connection form={form} type={type} needsKeys={needsKeysAgain(form.values, existing)} />
      )}
      {type?.lists_models === true && (
        <ConnectionCheck
          name={existing?.name}
          change={() => changeOf(form.values)}
          entered={JSON.stringify(form.values)}
          onError={markFields}
          isToldAtField={isOfAddress}
        />
      )}
      <Accordion variant="contained" radius="md">
        <Accordion.Item value="limits">
          <Accordion.Control>Limits and charges</Accordion.Control>
          <Accordion.Panel>
            <Limits form={form} />
          </Accordion.Panel>
        </Accordion.Item>
        {type !== undefined && hasAddress(type) && (
          <Accordion.Item value="servers">
            <Accordion.Control>Servers and region</Accordion.Control>
            <Accordion.Panel>
              <Stack gap="sm">
                <TextInput
                  label="Region"
                  description="Of a single server. Requests can be pinned to it."
                  placeholder="eu"
                  maxLength={32}
                  {...form.getInputProps('region')}
                />
                <JsonInput
                  label="Servers"
                  description="Several equal servers instead of one base URL, as a JSON list; each has its own limits and region. Keys stay above."
                  placeholder='[{ "name": "sweden", "base_url": "https://…/openai/v1", "region": "eu", "limits": { "starts_per_minute": 12 } }]'
                  autosize
                  minRows={3}
                  {...form.getInputProps('servers')}
                />
              </Stack>
            </Accordion.Panel>
          </Accordion.Item>
        )}
        {type?.sends_webhooks === true && (
          <Accordion.Item value="webhooks">
            <Accordion.Control>Webhooks about end users</Accordion.Control>
            <Accordion.Panel>
              <PasswordField
                of="Signing secret"
                label="Signing secret"
                description={`Have the provider send its safety events to /hooks/providers/${form.values.name.trim() || 'name'}, and enter the secret that it shows.`}
                autoComplete="off"
                placeholder={
                  existing?.has_webhook_secret === true ? 'Saved. Enter a new one to replace it.' : 'whsec_…'
                }
                {...form.getInputProps('webhook_secret')}
              />
            </Accordion.Panel>
          </Accordion.Item>
        )}
        {type !== undefined && optionFields(type.options).length > 0 && (
          <Accordion.Item value="options">
            <Accordion.Control>{type.title} options</Accordion.Control>
            <Accordion.Panel>
              <Stack gap="sm">
                {optionFields(type.options).map((option) => (
                  <OptionInput
                    key={option.name}
                    option={option}
                    texts={form.values.options}
                    error={errorOf(form, option.name)}
                    onChange={(options) => form.setFieldValue('options', options)}
                  />
                ))}
              </Stack>
            </Accordion.Panel>
          </Accordion.Item>
        )}
      </Accordion>
    </FormDialog>
  );
}

const ADDRESS_RULE = 'Enter a URL that begins with https:// or http://, without a user name, a query, or a fragment.';

/** Whether the address is malformed; its field shows that error. */
function isOfAddress(error: Error): boolean {
  return error instanceof RequestError && error.param === 'base_url' && error.message.includes('must be a URL');
}

/** Only the sandbox has no address. */
function hasAddress({ base_url: baseUrl, needs }: ProviderType): boolean {
  return baseUrl !== null || needs.includes('base_url');
}

function errorOf(form: Form, option: string): string | undefined {
  const found = Object.entries(form.errors).find(([name]) => `${name}.`.startsWith(`options.${option}.`))?.[1];
  return typeof found === 'string' ? found : undefined;
}

interface ConnectionProps {
  readonly form: Form;
  readonly type: ProviderType;
  /** The stored keys don't apply to the entered address. */
  readonly needsKeys: boolean;
}

function Connection({ form, type, needsKeys }: ConnectionProps) {
  const { keys, servers } = form.values;
  const hasServers = servers.trim() !== '';
  return (
    <>
      <TextInput
        label="Base URL"
        description={type.base_url === null ? 'Address of your server' : 'Leave blank for the default'}
        placeholder={type.base_url ?? 'http://10.0.0.5:8188'}
        required={type.needs.includes('base_url')}
        {...form.getInputProps('base_url')}
      />
      {type.type === 'openai' && hasNoPath(form.values.base_url) && (
        <Text size="sm" role="status">
          {MISSING_PATH}
        </Text>
      )}
      {needsKeys && (
        <Text size="sm" role="status">
          Enter the API keys again, or Save is refused: stored keys are sent only to the address that they were entered
          for.
        </Text>
      )}
      <Stack gap="xs">
        {keys.map(({ stored }, index) => (
          <Group key={index} align="flex-end" wrap="nowrap" gap="xs">
            {hasServers && (
              <TextInput
                label="Server"
                flex={1}
                miw={0}
                maxLength={100}
                disabled={stored}
                {...form.getInputProps(`keys.${index}.server`)}
              />
            )}
            <TextInput
              label="Label for this key"
              flex={1}
              miw={0}
              maxLength={100}
              disabled={stored}
              {...form.getInputProps(`keys.${index}.name`)}
            />
            <PasswordField
              of="API key"
              label="API key"
              flex={2}
              miw={0}
              autoComplete="off"
              placeholder={!stored ? '' : needsKeys ? 'Enter again' : 'Saved. Enter a new key to replace it.'}
              {...form.getInputProps(`keys.${index}.key`)}
            />
            <RemoveItem name={`key ${index + 1}`} onClick={() => form.removeListItem('keys', index)} />
          </Group>
        ))}
        {form.errors['keys'] !== undefined && (
          <Text size="sm" c="red.8">
            {form.errors['keys']}
          </Text>
        )}
        <Group justify="space-between">
          <Text size="xs" c="dimmed">
            Keys are encrypted and never shown again. Several keys share the load.
          </Text>
          <AddItem
            onClick={() =>
              form.insertListItem('keys', { server: '', name: `key-${keys.length + 1}`, key: '', stored: false })
            }
          >
            Add key
          </AddItem>
        </Group>
      </Stack>
    </>
  );
}

function Limits({ form }: { readonly form: Form }) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <NumberInput label="Concurrent calls" placeholder="Unlimited" min={1} {...form.getInputProps('concurrency')} />
      <NumberInput
        label="Calls per minute"
        placeholder="Unlimited"
        min={1}
        {...form.getInputProps('starts_per_minute')}
      />
      <Select
        label="If a call is interrupted"
        description="The provider may have charged for it"
        allowDeselect={false}
        data={[
          { value: '', label: 'Provider default' },
          { value: 'fail', label: 'Fail the task' },
          { value: 'retry', label: 'Try again' },
        ]}
        {...form.getInputProps('interrupted')}
      />
      <Select
        label="Calls are free"
        description="For example, on your own hardware"
        allowDeselect={false}
        data={[
          { value: '', label: 'Provider default' },
          { value: 'yes', label: 'Yes' },
          { value: 'no', label: 'No' },
        ]}
        {...form.getInputProps('free')}
      />
    </SimpleGrid>
  );
}
