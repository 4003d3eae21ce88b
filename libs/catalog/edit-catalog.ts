import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import type { Provider } from '#providers/provider-entry.js';
import type { EntryProblem } from './catalog.js';
import { CatalogSource } from './catalog-source.js';
import {
  ENTRY_NAME,
  type ConsoleEntries,
  type KeySource,
  type ModelSource,
  type ProviderSource,
  type ServerSource,
} from './catalog-schema.js';
import { ConsoleCatalog } from './console-catalog.js';
import { serversOf } from './entry-problems.js';
import { consoleFormProblems, problemText } from './parse-catalog.js';
import { ProviderKeyStore, type SealedKey } from './provider-key-store.js';
import { RevisionRepository, type RevisionChange } from './revision.repository.js';
import { toCatalog } from './to-catalog.js';

const SECTIONS = { providers: 'provider', models: 'model' } as const;
type Section = keyof typeof SECTIONS;
/** Temporary name of a provider that has no name yet. */
const UNNAMED = 'new';
type Action = 'added' | 'changed' | 'removed';

/** The requested state of a provider. */
export interface ProviderChange {
  readonly entry: Omit<ProviderSource, 'keys' | 'servers' | 'webhook_secret'> & {
    readonly servers?: readonly Omit<ServerSource, 'keys'>[];
  };
  /** All its keys; a key without a secret keeps the stored one. Absent: all keys stay. */
  readonly keys?: readonly KeyChange[] | undefined;
  /** Signing secret of its webhooks; null removes it, absent: it stays. */
  readonly webhook_secret?: string | null | undefined;
}

interface KeyChange {
  /** The server that it is for; absent where the provider has no list of servers. */
  readonly server?: string;
  readonly name: string;
  readonly key?: string;
}

/** The requested state of a model. */
export interface ModelChange {
  readonly entry: ModelSource;
}

/** A change with the revision that it is based on. */
type Revised<Change> = Change & { readonly revision: number };

/** A completed change, for the response and the audit log. */
export interface Changed {
  readonly revision: number;
  readonly action: `${'provider' | 'model'}.${Action}` | 'catalog.restored';
  /** Names of the changed fields. */
  readonly fields?: readonly string[];
  /** The added entry replaces a built-in one. */
  readonly replaces_built_in?: boolean;
}

interface NextState {
  /** The revision that the change is based on. */
  readonly on: number;
  readonly entries: ConsoleEntries;
  /** Secrets of new keys, by row. */
  readonly given?: ReadonlyMap<SealedKey, string>;
  /** The changed entry; errors in it omit its path. */
  readonly of?: readonly [Section, string];
}

/** Changes the console's entries. Problems are worded like those of models.yaml. */
@Injectable()
export class EditCatalog {
  constructor(
    private readonly source: CatalogSource,
    private readonly added: ConsoleCatalog,
    private readonly revisions: RevisionRepository,
    private readonly keys: ProviderKeyStore,
  ) {}

  /**
   * Adds or replaces a provider. Throws AppError `already_exists` when someone else made a change in the meantime,
   * `not_permitted` for a name in models.yaml, and `invalid_value` with the entry's field.
   */
  async saveProvider(name: string, body: Revised<ProviderChange>, author: string): Promise<Changed> {
    const before = await this.begin(body.revision, 'providers', name);
    const old = ownEntry(before.providers, name);
    const { entry, given } = this.withKeys(body, old);
    const entries = { ...before, providers: { ...before.providers, [name]: entry } };
    const next = { on: body.revision, entries, given, of: ['providers', name] } as const;
    return await this.save(next, old, entry, author);
  }

  /**
   * The provider as it would be saved, with its keys decrypted, for testing it. Without a name, it has no stored keys.
   * Throws like `saveProvider`.
   */
  async proposed(name: string | undefined, body: ProviderChange): Promise<Provider> {
    await this.added.refresh();
    const stored = this.added.revision.entries.providers;
    const { entry, given } = this.withKeys(body, name === undefined ? undefined : ownEntry(stored, name));
    const providers = { [UNNAMED]: entry };
    const form = consoleFormProblems({ providers, models: {} });
    if (form.length > 0) throw refusal(form, ['providers', UNNAMED]);
    const secrets = await this.keys.open();
    for (const [{ id }, key] of given) secrets.set(id, key);
    const secretOf = (key: KeySource): string | undefined => ('sealed' in key ? secrets.get(key.sealed) : undefined);
    const provider = toCatalog({ providers, models: {} }, {}, secretOf).providers.get(UNNAMED);
    if (provider === undefined) throw new AppError('internal_error', 'The provider could not be read.');
    return provider;
  }

  /** Adds or replaces a model. Throws like `saveProvider`. */
  async saveModel(name: string, { revision, entry }: Revised<ModelChange>, author: string): Promise<Changed> {
    const before = await this.begin(revision, 'models', name);
    const aliases: unknown = entry.aliases;
    const named = (Array.isArray(aliases) ? aliases : []).filter((alias): alias is string => typeof alias === 'string');
    const taken = named.find((alias) => this.source.isOfFile('models', alias));
    if (taken !== undefined) {
      throw new AppError('invalid_value', `The name ${taken} is already in models.yaml.`, { param: 'aliases' });
    }
    const entries = { ...before, models: { ...before.models, [name]: entry } };
    const next = { on: revision, entries, of: ['models', name] } as const;
    return await this.save(next, ownEntry(before.models, name), entry, author);
  }

  /** Removes an entry. Throws like `saveProvider`, and AppError `not_found`. */
  async remove(section: Section, name: string, revision: number, author: string): Promise<Changed> {
    await this.added.refresh();
    const isOfFile = this.source.isOfFile(section, name);
    if (!isOfFile && ownEntry<object>(this.added.revision.entries[section], name) === undefined) {
      throw new AppError('not_found', `There is no such ${SECTIONS[section]}.`);
    }
    const before = await this.begin(revision, section, name);
    const users = Object.entries(before.models).filter(([, { routes }]) => routes.some((one) => one.provider === name));
    if (section === 'providers' && users.length > 0) {
      const names = users.map(([user]) => user).join(', ');
      throw new AppError('invalid_value', `Some models have routes to it: ${names}. Change those first.`);
    }
    const left = Object.fromEntries(Object.entries(before[section]).filter(([other]) => other !== name));
    const action = `${SECTIONS[section]}.removed` as const;
    const change = { action, target: name, author };
    return { revision: await this.append({ on: revision, entries: { ...before, [section]: left } }, change), action };
  }

  /** Restores the state of a revision; 0 is the state before the first change. Throws like `saveProvider`. */
  async restore(number: number, on: number, author: string): Promise<Changed> {
    const old = number === 0 ? { entries: { providers: {}, models: {} } } : await this.revisions.find(number);
    if (old === undefined) throw new AppError('not_found', 'Revision not found.');
    await this.begin(on);
    const action = 'catalog.restored';
    return {
      revision: await this.append({ on, entries: old.entries }, { action, target: String(number), author }),
      action,
    };
  }

  /** The current entries. Throws if the change is not based on them, or if the name is invalid or in models.yaml. */
  private async begin(on: number, section?: Section, name = ''): Promise<ConsoleEntries> {
    if (section !== undefined && !new RegExp(ENTRY_NAME).test(name)) {
      throw new AppError(
        'invalid_value',
        'A name can have up to 100 letters, digits, and . _ : -, and must begin with a letter or digit.',
        { param: 'name' },
      );
    }
    await this.added.refresh();
    if (on !== this.added.revision.number) throw editConflict();
    if (section !== undefined && this.source.isOfFile(section, name)) {
      throw new AppError('not_permitted', 'This name is in models.yaml, so change it there.', { param: 'name' });
    }
    return this.added.revision.entries;
  }

  private async save(next: NextState, old: object | undefined, entry: object, author: string): Promise<Changed> {
    const [section, target] = next.of ?? ['providers', ''];
    const action = `${SECTIONS[section]}.${old === undefined ? 'added' : 'changed'}` as const;
    const revision = await this.append(next, { action, target, author });
    if (old !== undefined) return { revision, action, fields: changedFields(old, entry) };
    return { revision, action, ...(this.source.isBuiltIn(section, target) && { replaces_built_in: true }) };
  }

  /** The entry with its keys, and the secrets of the new keys. */
  private withKeys(body: ProviderChange, old: ProviderSource | undefined) {
    const { servers, ...rest } = body.entry;
    if (servers !== undefined && !isListOfObjects(servers))
      throw new AppError('invalid_value', 'servers must be a list of servers.', { param: 'servers' });
    if ('webhook_secret' in rest)
      throw new AppError('invalid_value', 'webhook_secret belongs next to the entry, not in it.', {
        param: 'webhook_secret',
      });
    if ([rest, ...(servers ?? [])].some((one) => 'keys' in one))
      throw new AppError('invalid_value', 'keys belong next to the entry, not in it.', { param: 'keys' });
    const given = new Map<SealedKey, string>();
    const withKeys = <One extends object>(one: One, server?: string): One & { keys?: KeySource[] } => {
      const stored = keysOf(old, server);
      const asked = body.keys?.filter((key) => key.server === server);
      const keys = asked === undefined ? stored : asked.map((key) => this.keyOf(key, stored, given));
      return keys.length === 0 ? one : { ...one, keys: [...keys] };
    };
    const lost = body.keys?.find(({ server }) => server !== undefined && !servers?.some(({ name }) => name === server));
    if (lost !== undefined)
      throw new AppError('invalid_value', `The key ${lost.name} is for ${lost.server}, which is no server.`, {
        param: 'keys',
      });
    const listed = servers?.map((server) => withKeys(server, server.name));
    const secret = this.webhookSecretOf(body, old, given);
    const entry: ProviderSource = {
      ...withKeys(rest),
      ...(listed && { servers: listed }),
      ...(secret && { webhook_secret: secret }),
    };
    assertKeysReentered(old, entry, given);
    return { entry, given };
  }

  private webhookSecretOf(
    { webhook_secret: webhookSecret }: ProviderChange,
    old: ProviderSource | undefined,
    given: Map<SealedKey, string>,
  ): KeySource | undefined {
    if (webhookSecret === undefined) return old?.webhook_secret;
    return webhookSecret === null ? undefined : this.keyOf({ name: 'webhook', key: webhookSecret }, [], given);
  }

  private keyOf({ name, key }: KeyChange, stored: readonly KeySource[], given: Map<SealedKey, string>): KeySource {
    if (key !== undefined) {
      const row = this.keys.seal(key);
      given.set(row, key);
      return { name, sealed: row.id };
    }
    const kept = stored.find((one) => one.name === name);
    if (kept !== undefined) return kept;
    throw new AppError('invalid_value', `The key ${name} is missing.`, { param: 'keys' });
  }

  /** The number of the new revision, which this process has loaded by then. */
  private async append({ on, entries, given = new Map(), of }: NextState, change: RevisionChange): Promise<number> {
    const form = consoleFormProblems(entries);
    if (form.length > 0) throw refusal(form, of);
    const secrets = await this.keys.open();
    for (const [{ id }, key] of given) secrets.set(id, key);
    const known = new Set(this.source.merged.skipped.map(problemText));
    const isNew = (problem: EntryProblem): boolean => isOf(of, problem) || !known.has(problemText(problem));
    const isOurs = ({ path: [section, name] }: EntryProblem): boolean =>
      Object.hasOwn(entries[section as Section], String(name));
    const problems = this.source.preview({ entries, secrets }).filter((one) => isOurs(one) && isNew(one));
    if (problems.length > 0) throw refusal(problems, of);
    if (!(await this.revisions.append({ number: on + 1, entries }, change, [...given.keys()]))) throw editConflict();
    await this.added.refresh();
    return on + 1;
  }
}

function ownEntry<T>(entries: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined;
}

/** Stored keys are never shown, so they must not be readable by sending them to another address either. */
function assertKeysReentered(
  old: ProviderSource | undefined,
  entry: ProviderSource,
  given: ReadonlyMap<SealedKey, string>,
): void {
  const isGiven = new Set([...given.keys()].map(({ id }) => id));
  const isSafe = serversOf(entry).every((server) => {
    const isKept = (server.keys ?? []).some((key) => 'sealed' in key && !isGiven.has(key.sealed));
    const before = old && serversOf(old).find(({ name }) => name === server.name);
    return !isKept || (before !== undefined && old && addressesOf(old, before) === addressesOf(entry, server));
  });
  if (isSafe) return;
  throw new AppError('invalid_value', 'Enter the keys again: the address they are sent to has changed.', {
    param: 'keys',
  });
}

/** The stored keys of a provider, or of one of its servers. */
function keysOf(old: ProviderSource | undefined, server: string | undefined): readonly KeySource[] {
  return (old && serversOf(old).find(({ name }) => name === server)?.keys) ?? [];
}

function isListOfObjects(value: unknown): value is object[] {
  return Array.isArray(value) && value.every((one: unknown) => typeof one === 'object' && one !== null);
}

/** The addresses that a server's keys are sent to. */
function addressesOf(
  { type, options = {} }: ProviderSource,
  { base_url: baseUrl }: Pick<ServerSource, 'base_url'>,
): string {
  const others = Object.entries(options).filter(([name]) => name.endsWith('_url'));
  return JSON.stringify([type, baseUrl?.replace(/\/+$/, ''), others.sort()]);
}

function changedFields(old: object, entry: object): string[] {
  const [before, after] = [old, entry].map((one) => new Map(Object.entries(one as Record<string, unknown>)));
  const names = [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])];
  return names.filter((name) => JSON.stringify(before?.get(name)) !== JSON.stringify(after?.get(name)));
}

function isOf(of: NextState['of'], { path }: EntryProblem): boolean {
  return of !== undefined && path[0] === of[0] && path[1] === of[1];
}

/** Uses the field's name for problems of the changed entry, and the full path for those of other entries. */
function refusal(problems: readonly EntryProblem[], of: NextState['of']): AppError {
  const own = (problem: EntryProblem): EntryProblem['path'] =>
    isOf(of, problem) ? problem.path.slice(2) : problem.path;
  const texts = problems.map((problem) => [own(problem).join('.'), problem.text].join(' ').trim());
  const [first] = problems;
  const param = first === undefined ? '' : own(first).join('.');
  return new AppError('invalid_value', `${[...new Set(texts)].join('; ')}.`, param === '' ? {} : { param });
}

function editConflict(): AppError {
  return new AppError(
    'already_exists',
    'Someone else changed providers or models in the meantime. Reload and try again.',
  );
}
