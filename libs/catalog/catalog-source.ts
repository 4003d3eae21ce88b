import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
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
  type OwnEntries,
} from './merge-catalog.js';
import { parseEntries, problemText, secretsIn } from './parse-catalog.js';
import { toCatalog } from './to-catalog.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** What holds the secrets that a catalog names. */
export const CATALOG_ENVIRONMENT = Symbol('environment of the catalog');

/** What the console adds, and the secrets of its keys by the rows that hold them. */
export interface AddedEntries {
  readonly entries: ConsoleEntries;
  readonly secrets: ReadonlyMap<string, string>;
}

const NOTHING: AddedEntries = { entries: { providers: {}, models: {} }, secrets: new Map() };

/**
 * The catalog in force: models.yaml and what the console adds. The file is read again and again; when it has changed,
 * it replaces the old one whole, or is refused whole with the reason in the log. Whoever asks should ask anew each time.
 */
@Injectable()
export class CatalogSource implements OnModuleInit, OnApplicationShutdown {
  private held: MergedCatalog;
  private own: OwnEntries;
  private added = NOTHING;
  private text: string;
  private timer: NodeJS.Timeout | undefined;
  private adapterProblems: AdapterProblems = () => [];
  private readonly listeners: (() => void)[] = [];

  /** Throws CatalogError, or the file system's error when MODELS_FILE can't be read. */
  constructor(
    private readonly config: CatalogConfig,
    @Inject(CATALOG_ENVIRONMENT) private readonly env: Environment,
    private readonly logger: Logger,
  ) {
    this.text = textOf(config, env);
    this.own = ownEntries(this.text, config, env);
    this.held = this.merge(this.own, this.added);
  }

  /**
   * Refuses every file that this finds problems in, and leaves out such entries of the console, from now on. Throws
   * CatalogError when the file in force is such.
   */
  check(adapterProblems: AdapterProblems): void {
    this.adapterProblems = adapterProblems;
    this.held = this.checked(this.own);
  }

  /** Calls this after each change of the catalog in force. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  get current(): Catalog {
    return this.held.catalog;
  }

  /** The catalog in force with its entries in the file's words, and what of the console is left out. */
  get merged(): MergedCatalog & Pick<OwnEntries, 'owner'> {
    return { ...this.held, owner: this.own.owner };
  }

  /** Whether a name, of models an alias too, is the file's; the built-in catalog owns none. */
  isOfFile(section: keyof ConsoleEntries, name: string): boolean {
    const { owner, file } = this.own;
    if (owner !== 'file') return false;
    return section === 'providers' ? Object.hasOwn(file.providers, name) : modelNames(file).has(name);
  }

  /** Whether a name of an entry is the built-in catalog's, whoever has it now. */
  isBuiltIn(section: keyof ConsoleEntries, name: string): boolean {
    const { owner, file } = this.own;
    return owner === 'built-in' && Object.hasOwn(file[section], name);
  }

  /** What would be left out if this were what the console adds. */
  preview(added: AddedEntries): readonly EntryProblem[] {
    return this.merge(this.own, added).leftOut;
  }

  /** Replaces what the console adds. */
  add(added: AddedEntries): void {
    this.added = added;
    this.hold(this.merge(this.own, added));
  }

  onModuleInit(): void {
    this.watch();
  }

  /** Begins to look for changes of the file. */
  watch(): void {
    const { modelsFile, reloadMs } = this.config;
    if (modelsFile === undefined || this.timer !== undefined) return;
    // Reading the text sees every way in which files are replaced; watching misses swapped links and network disks.
    this.timer = setInterval(() => {
      this.reload(modelsFile).catch((error: unknown) => this.logger.warn('catalog.unreadable', { error }));
    }, reloadMs).unref();
  }

  onApplicationShutdown(): void {
    this.close();
  }

  close(): void {
    clearInterval(this.timer);
  }

  /** With the console's entries, once the file has proven good by itself. Throws CatalogError. */
  private checked(own: OwnEntries): MergedCatalog {
    const problems = this.adapterProblems(toCatalog(own.file, this.env, secretsIn(this.env)));
    if (problems.length > 0) throw new CatalogError(nameOf(this.config), problems.map(problemText));
    return this.merge(own, this.added);
  }

  private merge(own: OwnEntries, { entries, secrets }: AddedEntries): MergedCatalog {
    const inEnv = secretsIn(this.env);
    const secretOf = (key: KeySource): string | undefined => ('sealed' in key ? secrets.get(key.sealed) : inEnv(key));
    return mergeCatalog(own, entries, {
      secretOf,
      make: (file) => toCatalog(file, this.env, secretOf),
      adapterProblems: this.adapterProblems,
    });
  }

  private hold(merged: MergedCatalog): void {
    this.held = merged;
    this.logger.info('catalog.loaded', { count: this.current.models.size });
    if (merged.leftOut.length > 0)
      this.logger.warn('catalog.left_out', { reason: merged.leftOut.map(problemText).join('; ') });
    for (const listener of this.listeners) listener();
  }

  private async reload(modelsFile: string): Promise<void> {
    const text = await readFile(modelsFile, 'utf8');
    if (text === this.text) return;
    this.text = text;
    try {
      const own = ownEntries(text, this.config, this.env);
      const merged = this.checked(own);
      this.own = own;
      this.hold(merged);
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
      this.logger.error('catalog.refused', { error });
    }
  }
}

/** The catalog as it is now, for a command that calls nobody: secrets that are not set are empty. Throws like CatalogSource. */
export function readCatalog(
  config: CatalogConfig,
  env: Environment,
  added = NOTHING.entries,
  adapterProblems: AdapterProblems = () => [],
): Catalog {
  const file = parseEntries(textOf(config, env), nameOf(config), undefined);
  const own: OwnEntries = { owner: ownerOf(config), file };
  const make = (entries: typeof file): Catalog => toCatalog(entries, env, secretsIn(env));
  return mergeCatalog(own, added, { secretOf: undefined, make, adapterProblems }).catalog;
}

function ownEntries(text: string, config: CatalogConfig, env: Environment): OwnEntries {
  return { owner: ownerOf(config), file: parseEntries(text, nameOf(config), secretsIn(env)) };
}

function ownerOf({ modelsFile }: CatalogConfig): OwnEntries['owner'] {
  return modelsFile === undefined ? 'built-in' : 'file';
}

function textOf({ modelsFile }: CatalogConfig, env: Environment): string {
  return modelsFile === undefined ? builtIn(env) : readFileSync(modelsFile, 'utf8');
}

function nameOf({ modelsFile }: CatalogConfig): string {
  return modelsFile ?? 'the built-in catalog';
}

function builtIn(env: Environment): string {
  return env['OPENAI_API_KEY'] ? openAiCatalog(env['OPENAI_BASE_URL'], env['OPENAI_IMAGE_MODEL']) : SANDBOX_CATALOG;
}
