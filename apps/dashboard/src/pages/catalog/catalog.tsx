import { Alert, Box, Button, Code, Group, Menu, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { IconPlus } from '@tabler/icons-react';
import { useState, type ReactNode } from 'react';
import { amountIn } from '#contract/money.js';
import {
  CATALOG_VIEWS,
  catalogQuery,
  type CatalogModel,
  type CatalogProvider,
  type Owner,
  type ReadCatalog,
} from '../../api/catalog.ts';
import { providersQuery } from '../../api/operation.ts';
import { send } from '../../api/request.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Dialog } from '../../parts/dialog.tsx';

import { HiddenHead } from '../../parts/hidden-head.tsx';
import { Mark } from '../../parts/mark.tsx';
import { PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { SectionTitle } from '../../parts/section-title.tsx';
import { TestButton } from '../operation/provider-test.tsx';
import { History } from './history.tsx';
import { ModelForm } from './model-form.tsx';
import { ProviderForm } from './provider-form.tsx';
import { useSave } from '../../parts/use-save.ts';

type Section = 'providers' | 'models';
type OpenDialog =
  | { kind: 'provider'; existing?: CatalogProvider; forModel?: CatalogModel }
  | { kind: 'model'; existing?: CatalogModel; replaced?: CatalogModel; provider?: string }
  | { kind: 'remove' | 'view'; section: Section; entry: CatalogProvider | CatalogModel };

const OWNERS: Readonly<Record<Owner, string | null>> = {
  file: 'models.yaml',
  console: null,
  'built-in': 'built-in',
};

/** For operators: models, their providers and prices. */
export function CatalogPage() {
  const { data: catalog, error, refetch } = useQuery(catalogQuery);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const [added, setAdded] = useState<string | null>(null);
  const close = () => setDialog(null);
  return (
    <PageFrame
      title="Providers and models"
      about="Which models callers can use, which providers serve them, and what they cost. Changes apply everywhere within seconds. Entries from models.yaml can be changed only in that file."
    >
      {error !== null && <Trouble error={error} doing="Could not load models" onRetry={() => void refetch()} />}
      {error === null && catalog === undefined && <Rows />}
      {catalog !== undefined && (
        <>
          {added !== null && <Added name={added} catalog={catalog} onAct={setDialog} onClose={() => setAdded(null)} />}
          <ProviderTable catalog={catalog} onAct={setDialog} />
          <ModelTable catalog={catalog} onAct={setDialog} />
          <History revision={catalog.revision} />
          {dialog?.kind === 'provider' && (
            <ProviderForm
              catalog={catalog}
              {...(dialog.existing && { existing: dialog.existing })}
              {...(dialog.forModel && { forModel: dialog.forModel.name })}
              onAdded={(name) => {
                if (dialog.forModel) return setDialog({ kind: 'model', replaced: dialog.forModel, provider: name });
                setAdded(name);
                close();
              }}
              onClose={close}
            />
          )}
          {dialog?.kind === 'model' && <ModelForm catalog={catalog} {...dialog} onClose={close} />}
          {dialog?.kind === 'remove' && (
            <Remove revision={catalog.revision} section={dialog.section} entry={dialog.entry} onClose={close} />
          )}
          {dialog?.kind === 'view' && (
            <Dialog opened onClose={close} title={dialog.entry.name} size="lg">
              <Code block>{JSON.stringify(dialog.entry.entry, null, 2)}</Code>
            </Dialog>
          )}
        </>
      )}
    </PageFrame>
  );
}

interface TableProps {
  readonly catalog: ReadCatalog;
  readonly onAct: (dialog: OpenDialog) => void;
}

interface AddedProps extends TableProps {
  readonly name: string;
  readonly onClose: () => void;
}

/** The next step after adding a provider, until a model has a route to it. */
function Added({ name, catalog, onAct, onClose }: AddedProps) {
  if (catalog.models.some(({ entry }) => entry.routes.some(({ provider }) => provider === name))) return null;
  // The most common case: replace the sandbox for the model that clients request.
  const builtIn = catalog.models.find(({ owner, entry }) => owner === 'built-in' && entry.kind === 'image');
  return (
    <Alert
      color="green"
      variant="light"
      // Green text on pale green is hard to read.
      styles={{ label: { color: 'var(--mantine-color-text)' } }}
      role="status"
      title={`Provider “${name}” added`}
      withCloseButton
      closeButtonLabel="Dismiss"
      onClose={onClose}
    >
      <Text size="sm">It gets no calls until a model has a route to it.</Text>
      <Group gap="xs" mt="sm">
        {builtIn !== undefined && (
          <Button size="xs" onClick={() => onAct({ kind: 'model', replaced: builtIn, provider: name })}>
            Use it for {builtIn.name}
          </Button>
        )}
        <Button
          size="xs"
          variant={builtIn === undefined ? 'filled' : 'default'}
          onClick={() => onAct({ kind: 'model', provider: name })}
        >
          Add a model for it
        </Button>
      </Group>
    </Alert>
  );
}

/** A model can only get another provider that exists. */
function replacing(model: CatalogModel, { providers }: ReadCatalog): OpenDialog {
  const isThere = providers.some(({ owner }) => owner === 'console');
  return isThere ? { kind: 'model', replaced: model } : { kind: 'provider', forModel: model };
}

function ProviderTable({ catalog, onAct }: TableProps) {
  const { data: states } = useQuery(providersQuery);
  const titles = new Map(catalog.types.map(({ type, title }) => [type, title]));
  return (
    <CatalogSection
      name="Providers"
      about="The services that generate images and answer chats."
      action="Add provider"
      onAdd={() => onAct({ kind: 'provider' })}
      heads={
        <>
          <Table.Th>Address</Table.Th>
          <Table.Th>Keys</Table.Th>
          <HiddenHead w={90}>Test</HiddenHead>
        </>
      }
      below={
        <Text size="xs" c="dimmed" mt={6}>
          To test a provider, give an image model a route to it.{' '}
          <Link to="/operation" className="text-link in-sentence">
            Status and queue
          </Link>{' '}
          shows how they are doing.
        </Text>
      }
    >
      {byName(catalog.providers).map((provider) => {
        const { name, owner, entry, keys } = provider;
        const state = states?.data.find((one) => one.name === name);
        const type = catalog.types.find((one) => one.type === entry.type);
        return (
          <Table.Tr key={`${owner} ${name}`}>
            <Table.Td maw={260}>
              <Name of={provider} />
              <Text size="xs" c="dimmed">
                {titles.get(entry.type) ?? entry.type}
              </Text>
            </Table.Td>
            <Table.Td data-name="Address" maw={280}>
              <Text size="sm" truncate>
                {entry.base_url ?? type?.base_url ?? '–'}
              </Text>
            </Table.Td>
            <Table.Td data-name="Keys">
              <Text size="sm">{keys.join(', ') || '–'}</Text>
            </Table.Td>
            <Table.Td>
              {state !== undefined && provider.problems.length === 0 && state.trials.length > 0 && (
                <TestButton provider={state} />
              )}
            </Table.Td>
            <Table.Td className="card-menu">
              <Actions
                section="providers"
                entry={provider}
                onAct={onAct}
                onEdit={() => onAct({ kind: 'provider', existing: provider })}
              />
            </Table.Td>
          </Table.Tr>
        );
      })}
    </CatalogSection>
  );
}

function ModelTable({ catalog, onAct }: TableProps) {
  return (
    <CatalogSection
      name="Models"
      about="The names that requests use."
      action="Add model"
      onAdd={() => onAct({ kind: 'model' })}
      heads={
        <>
          <Table.Th>Routes</Table.Th>
          <Table.Th>Price</Table.Th>
        </>
      }
    >
      {byName(catalog.models).map((model) => (
        <Table.Tr key={`${model.owner} ${model.name}`}>
          <Table.Td maw={260}>
            <Name of={model} />
            <Text size="xs" c="dimmed">
              {[model.entry.kind === 'image' ? 'Images' : 'Chats', ...(model.entry.aliases ?? [])].join(' · ')}
            </Text>
          </Table.Td>
          <Table.Td data-name="Routes">
            <Text size="sm">{model.entry.routes.map(({ provider }) => provider).join(', ')}</Text>
          </Table.Td>
          <Table.Td data-name="Price">
            <Text size="sm">{priceText(model, catalog)}</Text>
          </Table.Td>
          <Table.Td className="card-menu">
            <Actions
              section="models"
              entry={model}
              onAct={onAct}
              onEdit={() => onAct({ kind: 'model', existing: model })}
              onReplace={() => onAct(replacing(model, catalog))}
            />
          </Table.Td>
        </Table.Tr>
      ))}
    </CatalogSection>
  );
}

interface CatalogSectionProps {
  readonly name: string;
  readonly about: string;
  /** Label of the add button. */
  readonly action: string;
  readonly onAdd: () => void;
  /** Headers of the columns between the names and the actions. */
  readonly heads: ReactNode;
  readonly below?: ReactNode;
  readonly children: ReactNode;
}

/** A section of the catalog: a table with an add button. */
function CatalogSection({ name, about, action, onAdd, heads, below, children }: CatalogSectionProps) {
  return (
    <Box component="section" aria-label={name}>
      <SectionTitle
        about={about}
        actions={
          <Button leftSection={<IconPlus size={16} />} onClick={onAdd}>
            {action}
          </Button>
        }
      >
        {name}
      </SectionTitle>
      <Box className="surface" mt="sm">
        <Table.ScrollContainer minWidth={300}>
          <Table highlightOnHover horizontalSpacing="md" className="card-rows" __vars={{ '--card-cell': '130px' }}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Name</Table.Th>
                {heads}
                <HiddenHead w={56}>Actions</HiddenHead>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>{children}</Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Box>
      {below}
    </Box>
  );
}

function Name({ of: { name, owner, problems } }: { readonly of: CatalogProvider | CatalogModel }) {
  const label = OWNERS[owner];
  return (
    <>
      <Group gap="xs" wrap="nowrap">
        <Text size="sm" truncate title={name}>
          {name}
        </Text>
        {label !== null && <Mark>{label}</Mark>}
        {problems.length > 0 && <Mark>not in use</Mark>}
      </Group>
      {problems.map((problem) => (
        <Text key={problem} size="xs" c="red.8">
          {problem}
        </Text>
      ))}
    </>
  );
}

interface ActionsProps {
  readonly section: Section;
  readonly entry: CatalogProvider | CatalogModel;
  readonly onAct: (dialog: OpenDialog) => void;
  readonly onEdit: () => void;
  /** For models: serves the model with another provider. */
  readonly onReplace?: () => void;
}

function Actions({ section, entry, onAct, onEdit, onReplace }: ActionsProps) {
  return (
    <RowMenu of={entry.name}>
      {entry.owner === 'console' && <Menu.Item onClick={onEdit}>Edit</Menu.Item>}
      {entry.owner === 'built-in' && onReplace && <Menu.Item onClick={onReplace}>Change provider</Menu.Item>}
      <Menu.Item onClick={() => onAct({ kind: 'view', section, entry })}>View as JSON</Menu.Item>
      {entry.owner === 'console' && (
        <Menu.Item c="var(--mantine-color-error)" onClick={() => onAct({ kind: 'remove', section, entry })}>
          Remove
        </Menu.Item>
      )}
    </RowMenu>
  );
}

interface RemoveProps {
  readonly revision: number;
  readonly section: Section;
  readonly entry: CatalogProvider | CatalogModel;
  readonly onClose: () => void;
}

function Remove({ revision, section, entry: { name, replaces_built_in: replaces }, onClose }: RemoveProps) {
  const path = `/catalog/${section}/${encodeURIComponent(name)}`;
  const remove = useSave({
    send: () => send('DELETE', `${path}?revision=${revision}`),
    stale: CATALOG_VIEWS,
    after: onClose,
  });
  return (
    <Confirm opened title={`Remove “${name}”?`} action="Remove" save={remove} onClose={onClose}>
      {section === 'models' && !replaces && 'New requests for it are rejected, and tasks that haven’t started fail.'}
      {section === 'providers' &&
        'It gets no new calls. Running calls finish; tasks that wait for one of its jobs fail.'}
      {replaces && ` The built-in ${section === 'models' ? 'model' : 'provider'} “${name}” takes its place.`} You can
      undo this in the history.
    </Confirm>
  );
}

function priceText({ entry: { prices = [], routes } }: CatalogModel, catalog: ReadCatalog): string {
  const today = new Date().toISOString().slice(0, 10);
  const price = prices.findLast(({ from }) => from <= today) ?? prices.at(-1);
  if (price === undefined) return routes.every(({ provider }) => isFree(provider, catalog)) ? 'Free' : 'No price';
  const { per_image: images, per_million_tokens: tokens } = price;
  const money = (amount: number): string => amountIn(amount, catalog.currency);
  if (images === undefined) return `${money(tokens?.input ?? 0)} / ${money(tokens?.output ?? 0)} per 1M tokens`;
  const amounts = Object.values(images).flatMap((tier) => (typeof tier === 'number' ? [tier] : Object.values(tier)));
  const least = Math.min(...amounts);
  const most = Math.max(...amounts);
  return `${least === most ? money(least) : `${money(least)}–${money(most)}`} per image`;
}

/** Sorted by name, so an entry that replaces a built-in one keeps its place. */
function byName<T extends { readonly name: string }>(entries: readonly T[]): T[] {
  return [...entries].sort((one, other) => one.name.localeCompare(other.name, 'en', { numeric: true }));
}

function isFree(name: string, { providers, types }: ReadCatalog): boolean {
  const entry = providers.find((one) => one.name === name && one.problems.length === 0)?.entry;
  return entry?.free ?? types.find(({ type }) => type === entry?.type)?.free ?? false;
}
