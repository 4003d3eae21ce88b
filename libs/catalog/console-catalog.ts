import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Logger } from '#telemetry/logger.js';
import { CatalogSource, RELOAD_MS } from './catalog-source.js';
import type { KeySource, ModelSource, ProviderSource, ServerSource } from './catalog-schema.js';
import type { EntryProblem } from './catalog.js';
import type { EntryOwner, EntrySection } from './merge-catalog.js';
import { ProviderKeyStore } from './provider-key-store.js';
import { RevisionRepository, type Revision } from './revision.repository.js';

const NONE: Revision = { number: 0, entries: { providers: {}, models: {} } };

type Entries<T> = Readonly<Record<string, T>>;

/** An entry with its owner, and the reasons why it is not active. */
interface ListedEntry<T> {
  readonly name: string;
  readonly owner: EntryOwner;
  readonly entry: T;
  readonly problems: string[];
  /** It replaces a built-in entry, which becomes active again once this one is removed. */
  readonly replacesBuiltIn: boolean;
}

/** A provider without its keys. */
type ShownProvider = Omit<ProviderSource, 'keys' | 'servers' | 'webhook_secret'> & {
  servers?: Omit<ServerSource, 'keys'>[];
};

/** The entries of models.yaml and the console, with only the names of keys. */
export interface ListedEntries {
  readonly providers: (ListedEntry<ShownProvider> & {
    readonly keys: string[];
    readonly has_webhook_secret: boolean;
    /** The keys of its servers. */
    readonly server_keys: { readonly server: string; readonly name: string }[];
  })[];
  readonly models: ListedEntry<ModelSource>[];
}

/**
 * Loads the console's entries into this process's catalog, and checks for changes at regular intervals. While Postgres
 * is unavailable, the last entries stay active.
 */
@Injectable()
export class ConsoleCatalog implements OnModuleInit, OnModuleDestroy {
  private held = NONE;
  private timer: NodeJS.Timeout | undefined;
  private reading: Promise<void> | undefined;
  private unreadable = false;

  constructor(
    private readonly source: CatalogSource,
    private readonly revisions: RevisionRepository,
    private readonly keys: ProviderKeyStore,
    private readonly logger: Logger,
  ) {}

  /** The active revision, as far as this process knows. */
  get revision(): Revision {
    return this.held;
  }

  /** All entries of the console, and the active ones of the file or built-in catalog. */
  list(): ListedEntries {
    const { entries, skipped, owner } = this.source.merged;
    const listed = <T>(section: EntrySection, all: Entries<T>, added: Entries<T>): ListedEntry<T>[] => {
      const isOurs = (name: string): boolean => Object.hasOwn(added, name) && !this.source.isOfFile(section, name);
      const others = Object.entries(all).filter(([name]) => !isOurs(name));
      return [
        ...others.map(([name, entry]) => ({ name, owner, entry, problems: [], replacesBuiltIn: false })),
        ...Object.entries(added).map(([name, entry]) => ({
          name,
          owner: 'console' as const,
          entry,
          problems: problemsOf(skipped, section, name),
          replacesBuiltIn: this.source.isBuiltIn(section, name),
        })),
      ];
    };
    const ours = this.held.entries;
    const providers = listed('providers', entries.providers, ours.providers);
    return {
      providers: providers.map(({ entry: { keys, servers, webhook_secret: webhookSecret, ...entry }, ...rest }) => ({
        ...rest,
        entry: { ...entry, ...(servers && { servers: servers.map(({ keys: _, ...server }) => server) }) },
        keys: shownKeys(keys),
        has_webhook_secret: webhookSecret !== undefined,
        server_keys: (servers ?? []).flatMap(({ name: server, keys: own }) =>
          shownKeys(own).map((name) => ({ server, name })),
        ),
      })),
      models: listed('models', entries.models, ours.models),
    };
  }

  /** Loads the console's models before any work starts: Nest initializes the modules that start work later. */
  async onModuleInit(): Promise<void> {
    this.timer = setInterval(() => void this.refresh(), RELOAD_MS).unref();
    await this.refresh();
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer);
    await this.reading;
  }

  /** Reads the revision that is active now or later, unless already loaded. Never throws. */
  async refresh(): Promise<void> {
    // A read that has already started may miss the latest change.
    await this.reading;
    this.reading ??= this.read().finally(() => (this.reading = undefined));
    await this.reading;
  }

  private async read(): Promise<void> {
    try {
      if ((await this.revisions.newest()) !== this.held.number) await this.load();
      this.unreadable = false;
    } catch (error) {
      if (!this.unreadable) this.logger.warn('catalog.console_unreadable', { error });
      this.unreadable = true;
    }
  }

  private async load(): Promise<void> {
    const revision = (await this.revisions.find()) ?? NONE;
    this.source.add({ entries: revision.entries, secrets: await this.keys.open() });
    this.held = revision;
  }
}

/** Operators know the file's keys by their environment variables. */
function shownKeys(keys: readonly KeySource[] = []): string[] {
  return keys.map((key) => key.name ?? ('env' in key ? key.env : ''));
}

function problemsOf(skipped: readonly EntryProblem[], section: EntrySection, name: string): string[] {
  return skipped
    .filter(({ path }) => path[0] === section && path[1] === name)
    .map(({ path, text }) => [path.slice(2).join('.'), text].filter((part) => part !== '').join(' '));
}
