import { ApiProperty } from '@nestjs/swagger';
import { auditSentence } from '#accounts/audit-actions.js';
import type { Catalog } from '#catalog/catalog.js';
import type { ConsoleCatalog } from '#catalog/console-catalog.js';
import { endingModels } from '#catalog/ending-models.js';
import type { RevisionSummary } from '#catalog/revision.repository.js';
import { DESCRIPTORS } from '#providers/descriptors.js';
import { ListOf } from '../../dto/list-views.dto.js';

const OWNERS = ['file', 'console', 'built-in'] as const;

class ProviderTypeView {
  @ApiProperty({ example: 'openai' })
  type!: string;

  @ApiProperty({ example: 'OpenAI-compatible' })
  title!: string;

  @ApiProperty({ type: String, nullable: true, description: 'Default base URL.' })
  base_url!: string | null;

  @ApiProperty({ type: [String], enum: ['base_url', 'keys'], description: 'Required settings.' })
  needs!: string[];

  @ApiProperty({ description: 'Whether calls are free by default.' })
  free!: boolean;

  @ApiProperty({ description: 'Whether the provider also serves chat models.' })
  chat!: boolean;

  @ApiProperty({ description: 'Whether the connection can be tested before models are added.' })
  lists_models!: boolean;

  @ApiProperty({ description: 'Whether it sends webhooks about end users.' })
  sends_webhooks!: boolean;

  @ApiProperty({ type: 'object', additionalProperties: true, description: 'JSON Schema of the options.' })
  options!: object;
}

class EntryView {
  @ApiProperty()
  name!: string;

  @ApiProperty({ enum: OWNERS, description: 'Where the entry is defined; only console entries can be changed.' })
  owner!: (typeof OWNERS)[number];

  @ApiProperty({ type: 'object', additionalProperties: true, description: 'As in models.yaml, without keys.' })
  entry!: object;

  @ApiProperty({ type: [String], description: 'Problems that keep the entry from being used; empty = in use.' })
  problems!: string[];

  @ApiProperty({ description: 'Whether removing the entry restores a built-in one of the same name.' })
  replaces_built_in!: boolean;
}

class ServerKeyView {
  @ApiProperty({ example: 'sweden' })
  server!: string;

  @ApiProperty()
  name!: string;
}

class ProviderEntryView extends EntryView {
  @ApiProperty({ type: [String], description: 'Names of the keys.' })
  keys!: string[];

  @ApiProperty({ description: 'Whether its webhooks about end users are accepted.' })
  has_webhook_secret!: boolean;

  @ApiProperty({ type: [ServerKeyView], description: 'Names of the keys of its servers, if it has a list of them.' })
  server_keys!: ServerKeyView[];
}

class EndingModelView {
  @ApiProperty()
  name!: string;

  @ApiProperty({ format: 'date', description: 'First day without the model, in UTC.' })
  shutdown_date!: string;

  @ApiProperty({ type: [String], description: 'Models to use instead.' })
  successors!: string[];
}

/** The whole catalog, of models.yaml and the console. */
export class CatalogView {
  @ApiProperty({ type: 'integer', description: 'Current revision of the console’s catalog; 0 = no changes yet.' })
  revision!: number;

  @ApiProperty({ example: 'USD' })
  currency!: string;

  @ApiProperty({ type: [ProviderTypeView] })
  types!: ProviderTypeView[];

  @ApiProperty({ type: [ProviderEntryView] })
  providers!: ProviderEntryView[];

  @ApiProperty({ type: [EntryView] })
  models!: EntryView[];

  @ApiProperty({ type: [EndingModelView], description: 'Models that end within 30 days, or have ended.' })
  ending!: EndingModelView[];
}

/** `catalog`: what is in force. */
export function catalogView(added: ConsoleCatalog, catalog: Catalog): CatalogView {
  const types = Object.entries(DESCRIPTORS).map(
    ([type, { title, baseUrl, needs, free, chat, loadModels, loadCases, options }]) => ({
      type,
      title,
      base_url: baseUrl ?? null,
      needs: [...needs],
      free,
      chat,
      options,
      lists_models: loadModels !== undefined,
      sends_webhooks: loadCases !== undefined,
    }),
  );
  const { providers, models } = added.list();
  return {
    revision: added.revision.number,
    currency: catalog.currency,
    types,
    providers: providers.map(entryView),
    models: models.map(entryView),
    ending: endingModels(catalog, new Date()).map(({ name, shutdownDate, successors }) => ({
      name,
      shutdown_date: shutdownDate,
      successors: [...successors],
    })),
  };
}

function entryView<T extends { readonly replacesBuiltIn: boolean }>({ replacesBuiltIn, ...entry }: T) {
  return { ...entry, replaces_built_in: replacesBuiltIn };
}

/** The result of testing a provider's address and keys. */
export class ConnectionView {
  @ApiProperty({ type: [String], description: 'Model names listed by the provider.' })
  models!: string[];

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Why the list is unavailable; null if the connection works.',
  })
  problem!: string | null;
}

/** The revision that a change created. */
export class ChangedView {
  @ApiProperty({ type: 'integer' })
  revision!: number;
}

class RevisionView {
  @ApiProperty({ type: 'integer' })
  revision!: number;

  @ApiProperty({ example: 'added the provider “main”' })
  sentence!: string;

  @ApiProperty({ description: 'Email address of the author.' })
  author!: string;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;
}

/** Changes that can be undone. */
export class RevisionListView extends ListOf(RevisionView, 'The latest 100 changes, newest first.') {}

/** A revision in the history; `isBuiltIn`: whether its entry has the name of a built-in one. */
export function revisionView(
  { number, action, target, author, createdAt }: RevisionSummary,
  isBuiltIn: boolean,
): RevisionView {
  const sentence = auditSentence(action, target, { revision: number, replaces_built_in: isBuiltIn });
  return { revision: number, sentence, author, created_at: createdAt.toISOString() };
}
