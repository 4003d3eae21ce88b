import { Accordion, MultiSelect, NumberInput, Select, SimpleGrid, TagsInput, TextInput } from '@mantine/core';
import { useForm, type UseFormReturnType } from '@mantine/form';
import { CATALOG_VIEWS, type CatalogModel, type ReadCatalog } from '../../api/catalog.ts';
import { RequestError, send } from '../../api/request.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { NAME_RULE, nameProblem, ReplacedNote, replacedBy } from './entry-name.tsx';
import {
  hasTiers,
  hasTokens,
  keptOf,
  modelEntry,
  modelFields,
  newModelFields,
  tierPrice,
  type ModelFields,
} from './model-fields.ts';
import { PriceInputs } from './price-inputs.tsx';
import { RouteInputs } from './route-inputs.tsx';
import { useSave } from '../../parts/use-save.ts';

interface ModelFormProps {
  readonly catalog: ReadCatalog;
  readonly existing?: CatalogModel;
  /** The built-in model that the new one replaces. */
  readonly replaced?: CatalogModel;
  /** The provider of the first route of a new model. */
  readonly provider?: string;
  readonly onClose: () => void;
}

/** Images need prices, all or none of them, unless tokens have some. */
function tierProblem(text: string, { kind, prices }: ModelFields, path: string): string | null {
  const price = prices[Number(path.split('.')[1])];
  const isNeeded = price === undefined || hasTiers(price) || !hasTokens(price, kind);
  return kind === 'image' && isNeeded && tierPrice(text) === undefined ? 'Enter an amount such as 0.04' : null;
}

/** Adds or changes a model of the console: its routes and prices. */
export function ModelForm({ catalog, existing, replaced, provider, onClose }: ModelFormProps) {
  const isNew = existing === undefined && replaced === undefined;
  const form = useForm<ModelFields>({
    initialValues: existing ? modelFields(existing) : newModelFields(provider ?? ownFirst(catalog) ?? '', replaced),
    validate: {
      name: nameProblem,
      prices: {
        tiers: {
          '1k': tierProblem,
          '2k': tierProblem,
          '4k': tierProblem,
        },
      },
    },
  });
  const save = useSave({
    send: (fields: ModelFields) =>
      send('PUT', `/catalog/models/${encodeURIComponent(fields.name.trim())}`, {
        revision: catalog.revision,
        entry: modelEntry(fields, existing?.entry ?? keptOf(replaced)),
      }),
    stale: CATALOG_VIEWS,
    done: (_, { name }) => (existing ? UPDATED : savedMessage(catalog, name)),
    after: onClose,
    onError: (error) => {
      if (error instanceof RequestError && error.param !== null) form.setFieldError(error.param, error.message);
    },
  });
  const title = existing
    ? `Edit “${existing.name}”`
    : replaced
      ? `Change provider for “${replaced.name}”`
      : 'Add model';
  const { name, aliases } = form.values;
  const taken = existing ? undefined : replacedBy(catalog.models, name, aliases);
  return (
    <FormDialog
      title={title}
      wide
      ownRules
      action={isNew ? 'Add model' : 'Save'}
      save={save}
      doing="Could not save the model"
      onSubmit={form.onSubmit((fields) => save.mutate(fields))}
      onClose={onClose}
    >
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput
          label="Name"
          description={isNew ? `The name requests use. ${NAME_RULE}` : 'The name requests use'}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          required
          data-autofocus={isNew || undefined}
          maxLength={100}
          disabled={!isNew}
          {...form.getInputProps('name')}
        />
        <Select
          label="Kind"
          allowDeselect={false}
          data={[
            { value: 'image', label: 'Images' },
            { value: 'chat', label: 'Chats' },
          ]}
          {...form.getInputProps('kind')}
        />
      </SimpleGrid>
      {taken && <ReplacedNote kind="model" replaced={taken} />}
      <TagsInput label="Aliases" description="Other names that requests may use" {...form.getInputProps('aliases')} />
      <RouteInputs form={form} catalog={catalog} />
      <PriceInputs form={form} currency={catalog.currency} />
      {form.values.kind === 'image' && (
        <Accordion variant="contained" radius="md">
          <Accordion.Item value="accepts">
            <Accordion.Control>Allowed options</Accordion.Control>
            <Accordion.Panel>
              <Accepts form={form} />
            </Accordion.Panel>
          </Accordion.Item>
        </Accordion>
      )}
    </FormDialog>
  );
}

const UPDATED = 'Model updated.';

/** What saving did, in the words of the history. */
function savedMessage({ models }: ReadCatalog, name: string): string {
  const before = models.find((model) => model.name === name.trim());
  if (before?.owner === 'built-in') return `Built-in model “${before.name}” replaced.`;
  return before === undefined ? 'Model added.' : UPDATED;
}

/** The most likely provider of a new model: the one added last. */
function ownFirst({ providers }: ReadCatalog): string | undefined {
  return (providers.findLast(({ owner }) => owner === 'console') ?? providers[0])?.name;
}

function Accepts({ form }: { readonly form: UseFormReturnType<ModelFields> }) {
  const listed = (name: 'qualities' | 'edit_qualities' | 'output_formats' | 'sizes', otherwise: string) => ({
    placeholder: form.values[name].length === 0 ? otherwise : '',
    ...form.getInputProps(name),
  });
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <TagsInput label="Qualities" {...listed('qualities', 'Default')} />
      <TagsInput label="Qualities of edits" {...listed('edit_qualities', 'Same as qualities')} />
      <MultiSelect
        label="Output formats"
        data={['png', 'jpeg', 'webp', 'gif']}
        {...listed('output_formats', 'png, jpeg, webp')}
      />
      <TagsInput label="Sizes" {...listed('sizes', 'All')} />
      <Select
        label="Sizes in pixels"
        allowDeselect={false}
        data={[
          { value: '', label: 'Default' },
          { value: 'yes', label: 'Accept' },
          { value: 'no', label: 'Reject' },
        ]}
        {...form.getInputProps('pixel_sizes')}
      />
      <NumberInput
        label="Images per request (n)"
        description="At most, as callers may ask for. At least one provider must return that many from one call."
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        placeholder="1"
        min={1}
        max={10}
        {...form.getInputProps('max_n')}
      />
    </SimpleGrid>
  );
}
