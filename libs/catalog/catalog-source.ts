import { Inject, Injectable, Optional, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { ConfigError } from '#config/load-config.js';
import { Logger } from '#telemetry/logger.js';
import { openAiCatalog, SANDBOX_CATALOG } from './built-in.js';
import { CatalogError, type Catalog, type EntryProblem } from './catalog.js';
import { CatalogConfig } from './catalog.config.js';
import type { ConsoleEntries, KeySource } from './catalog-schema.js';
import {
  mergeCatalog,
  modelNames,
  type AdapterProblems,
  type MergedCatalog,
  type BaseEntries,
} from './merge-catalog.js';
import { parseEntries, problemText, secretsIn } from './parse-catalog.js';
import { toCatalog } from './to-catalog.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Injection token of the environment that contains the catalog's secrets. */
export const CATALOG_ENVIRONMENT = Symbol('environment of the catalog');

/** How often a process looks for changes in MODELS_FILE and in the console's catalog: soon for whoever waits, and one cheap read. */
export const RELOAD_MS = 2_000;

/** The console's entries, and the secrets of their keys by row id. */
export interface AddedEntries {
  readonly entries: ConsoleEntries;
  readonly secrets: ReadonlyMap<string, string>;
}

const NOTHING: AddedEntries = { entries: { providers: {}, models: {} }, secrets: new Map() };

/**
 * The active catalog: models.yaml and the console's entries. The file is read at regular intervals; a changed file
 * replaces the old one completely, or is rejected completely with the reason in the log. Read `current` each time it is
 * needed, because it may change.
 */
@Injectable()
export class CatalogSource implements OnModuleInit, OnApplicationShutdown {
  private active: MergedCatalog;
  private own: BaseEntries;
  private added = NOTHING;
  private text: string;
  private timer: NodeJS.Timeout | undefined;
  private reading = false;
  private adapterProblems: AdapterProblems = () => [];
  private readonly listeners: (() => void)[] = [];

  /** Throws CatalogError, or ConfigError when MODELS_FILE can't be read. */
  constructor(
    private readonly config: CatalogConfig,
    @Inject(CATALOG_ENVIRONMENT) private readonly env: Environment,
    private readonly logger: Logger,
    @Optional() private readonly reloadMs: number = RELOAD_MS,
  ) {
    this.text = textOf(config, env);
    this.own = baseEntries(this.text, config, env);
    this.active = this.merge(this.own, this.added);
  }

  /**
   * From now on, rejects files in which `adapterProblems` finds problems, and skips such console entries. Throws
   * CatalogError when the current file has problems.
   */
  check(adapterProblems: AdapterProblems): void {
    this.adapterProblems = adapterProblems;
    this.active = this.checked(this.own);
  }

  /** Calls the listener after each change of the active catalog. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  get current(): Catalog {
    return this.active.catalog;
  }

  /** The active catalog, its entries with the file's field names, and the skipped entries. */
  get merged(): MergedCatalog & Pick<BaseEntries, 'owner'> {
    return { ...this.active, owner: this.own.owner };
  }

  /** Whether models.yaml defines a name, including aliases of models; false for the built-in catalog's names. */
  isOfFile(section: keyof ConsoleEntries, name: string): boolean {
    const { owner, file } = this.own;
    if (owner !== 'file') return false;
    return section === 'providers' ? Object.hasOwn(file.providers, name) : modelNames(file).has(name);
  }

  /** Whether the built-in catalog has an entry of this name, even if the console replaced it. */
  isBuiltIn(section: keyof ConsoleEntries, name: string): boolean {
    const { owner, file } = this.own;
    return owner === 'built-in' && Object.hasOwn(file[section], name);
  }

  /** The problems that would exclude entries if these were the console's entries. */
  preview(added: AddedEntries): readonly EntryProblem[] {
    return this.merge(this.own, added).skipped;
  }

  /** Replaces the console's entries. */
  add(added: AddedEntries): void {
    this.added = added;
    this.activate(this.merge(this.own, added));
  }

  onModuleInit(): void {
    this.watch();
  }

  /** Starts checking the file for changes. */
  watch(): void {
    const { modelsFile } = this.config;
    if (modelsFile === undefined || this.timer !== undefined) return;
    // Reading the text detects every kind of replacement; file watchers miss changed symbolic links and network drives.
    this.timer = setInterval(() => {
      // A slow read of the old text must not end after a read of the new one.
      if (this.reading) return;
      this.reading = true;
      this.reload(modelsFile)
        .catch((error: unknown) => this.logger.warn('catalog.unreadable', { error }))
        .finally(() => (this.reading = false));
    }, this.reloadMs).unref();
  }

  onApplicationShutdown(): void {
    this.close();
  }

  close(): void {
    clearInterval(this.timer);
  }

  /** Merges the console's entries, after checking the file alone. Throws CatalogError. */
  private checked(own: BaseEntries): MergedCatalog {
    const problems = this.adapterProblems(toCatalog(own.file, this.env, secretsIn(this.env)));
    if (problems.length > 0) throw new CatalogError(nameOf(this.config), problems.map(problemText));
    return this.merge(own, this.added);
  }

  private merge(own: BaseEntries, { entries, secrets }: AddedEntries): MergedCatalog {
    const inEnv = secretsIn(this.env);
    const secretOf = (key: KeySource): string | undefined => ('sealed' in key ? secrets.get(key.sealed) : inEnv(key));
    return mergeCatalog(own, entries, {
      secretOf,
      make: (file) => toCatalog(file, this.env, secretOf),
      adapterProblems: this.adapterProblems,
    });
  }

  private activate(merged: MergedCatalog): void {
    this.active = merged;
    this.logger.info('catalog.loaded', { count: this.current.models.size });
    if (merged.skipped.length > 0)
      this.logger.warn('catalog.left_out', { reason: merged.skipped.map(problemText).join('; ') });
    for (const listener of this.listeners) listener();
  }

  private async reload(modelsFile: string): Promise<void> {
    const text = await readFile(modelsFile, 'utf8');
    if (text === this.text) return;
    this.text = text;
    try {
      const own = baseEntries(text, this.config, this.env);
      const merged = this.checked(own);
      this.own = own;
      this.activate(merged);
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
      this.logger.error('catalog.refused', { error });
    }
  }
}

/**
 * The current catalog for a command that calls no provider; secrets that are not set are empty. Throws like
 * CatalogSource.
 */
export function readCatalog(
  config: CatalogConfig,
  env: Environment,
  added = NOTHING.entries,
  adapterProblems: AdapterProblems = () => [],
): Catalog {
  const file = parseEntries(textOf(config, env), nameOf(config), undefined);
  const own: BaseEntries = { owner: ownerOf(config), file };
  const make = (entries: typeof file): Catalog => toCatalog(entries, env, secretsIn(env));
  return mergeCatalog(own, added, { secretOf: undefined, make, adapterProblems }).catalog;
}

function baseEntries(text: string, config: CatalogConfig, env: Environment): BaseEntries {
  return { owner: ownerOf(config), file: parseEntries(text, nameOf(config), secretsIn(env)) };
}

function ownerOf({ modelsFile }: CatalogConfig): BaseEntries['owner'] {
  return modelsFile === undefined ? 'built-in' : 'file';
}

/** Throws ConfigError when the file can't be read; a command that only checks settings may not have it. */
function textOf({ modelsFile }: CatalogConfig, env: Environment): string {
  if (modelsFile === undefined) return builtIn(env);
  try {
    return readFileSync(modelsFile, 'utf8');
  } catch (error) {
    throw new ConfigError([`MODELS_FILE can't be read: ${(error as Error).message}`]);
  }
}

function nameOf({ modelsFile }: CatalogConfig): string {
  return modelsFile ?? 'the built-in catalog';
}

function builtIn(env: Environment): string {
  if (!env['OPENAI_API_KEY']) return SANDBOX_CATALOG;
  return openAiCatalog(new Date(), { baseUrl: env['OPENAI_BASE_URL'], imageModel: env['OPENAI_IMAGE_MODEL'] });
}
