import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Logger } from '#telemetry/logger.js';
import { openAiCatalogue, SANDBOX_CATALOGUE } from './built-in.js';
import { CatalogueError, type Catalogue, type EntryProblem } from './catalogue.js';
import { CatalogueConfig } from './catalogue.config.js';
import type { ConsoleEntries, KeySource } from './catalogue-schema.js';
import {
  mergeCatalogue,
  modelNames,
  type AdapterProblems,
  type MergedCatalogue,
  type OwnEntries,
} from './merge-catalogue.js';
import { parseEntries, problemText, secretsIn } from './parse-catalogue.js';
import { toCatalogue } from './to-catalogue.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** What holds the secrets that a catalogue names. */
export const CATALOGUE_ENVIRONMENT = Symbol('environment of the catalogue');

/** What the console adds, and the secrets of its keys by the rows that hold them. */
export interface AddedEntries {
  readonly entries: ConsoleEntries;
  readonly secrets: ReadonlyMap<string, string>;
}

const NOTHING: AddedEntries = { entries: { providers: {}, models: {} }, secrets: new Map() };

/**
 * The catalogue in force: models.yaml and what the console adds. The file is read again and again; when it has changed,
 * it replaces the old one whole, or is refused whole with the reason in the log. Whoever asks should ask anew each time.
 */
@Injectable()
export class CatalogueSource implements OnModuleInit, OnApplicationShutdown {
  private held: MergedCatalogue;
  private own: OwnEntries;
  private added = NOTHING;
  private text: string;
  private timer: NodeJS.Timeout | undefined;
  private adapterProblems: AdapterProblems = () => [];

  /** Throws CatalogueError, or the file system's error when MODELS_FILE can't be read. */
  constructor(
    private readonly config: CatalogueConfig,
    @Inject(CATALOGUE_ENVIRONMENT) private readonly env: Environment,
    private readonly logger: Logger,
  ) {
    this.text = textOf(config, env);
    this.own = ownEntries(this.text, config, env);
    this.held = this.merge(this.own, this.added);
  }

  /**
   * Refuses every file that this finds problems in, and leaves out such entries of the console, from now on. Throws
   * CatalogueError when the file in force is such.
   */
  check(adapterProblems: AdapterProblems): void {
    this.adapterProblems = adapterProblems;
    this.held = this.checked(this.own);
  }

  get current(): Catalogue {
    return this.held.catalogue;
  }

  /** The catalogue in force with its entries in the file's words, and what of the console is left out. */
  get merged(): MergedCatalogue & Pick<OwnEntries, 'owner'> {
    return { ...this.held, owner: this.own.owner };
  }

  /** Whether a name, of models an alias too, is the file's; the built-in catalogue owns none. */
  isOfFile(section: keyof ConsoleEntries, name: string): boolean {
    const { owner, file } = this.own;
    if (owner !== 'file') return false;
    return section === 'providers' ? Object.hasOwn(file.providers, name) : modelNames(file).has(name);
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
      this.reload(modelsFile).catch((error: unknown) => this.logger.warn('catalogue.unreadable', { error }));
    }, reloadMs).unref();
  }

  onApplicationShutdown(): void {
    this.close();
  }

  close(): void {
    clearInterval(this.timer);
  }

  /** With the console's entries, once the file has proven good by itself. Throws CatalogueError. */
  private checked(own: OwnEntries): MergedCatalogue {
    const problems = this.adapterProblems(toCatalogue(own.file, this.env, secretsIn(this.env)));
    if (problems.length > 0) throw new CatalogueError(nameOf(this.config), problems.map(problemText));
    return this.merge(own, this.added);
  }

  private merge(own: OwnEntries, { entries, secrets }: AddedEntries): MergedCatalogue {
    const inEnv = secretsIn(this.env);
    const secretOf = (key: KeySource): string | undefined => ('sealed' in key ? secrets.get(key.sealed) : inEnv(key));
    return mergeCatalogue(own, entries, {
      secretOf,
      make: (file) => toCatalogue(file, this.env, secretOf),
      adapterProblems: this.adapterProblems,
    });
  }

  private hold(merged: MergedCatalogue): void {
    this.held = merged;
    this.logger.info('catalogue.loaded', { count: this.current.models.size });
    if (merged.leftOut.length === 0) return;
    this.logger.warn('catalogue.left_out', { reason: merged.leftOut.map(problemText).join('; ') });
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
      if (!(error instanceof CatalogueError)) throw error;
      this.logger.error('catalogue.refused', { error });
    }
  }
}

/** The catalogue as it is now, for a command that calls nobody: secrets that are not set are empty. Throws like CatalogueSource. */
export function readCatalogue(config: CatalogueConfig, env: Environment, added = NOTHING.entries): Catalogue {
  const file = parseEntries(textOf(config, env), nameOf(config), undefined);
  const own: OwnEntries = { owner: ownerOf(config), file };
  const make = (entries: typeof file): Catalogue => toCatalogue(entries, env, secretsIn(env));
  return mergeCatalogue(own, added, { secretOf: undefined, make, adapterProblems: () => [] }).catalogue;
}

function ownEntries(text: string, config: CatalogueConfig, env: Environment): OwnEntries {
  return { owner: ownerOf(config), file: parseEntries(text, nameOf(config), secretsIn(env)) };
}

function ownerOf({ modelsFile }: CatalogueConfig): OwnEntries['owner'] {
  return modelsFile === undefined ? 'built-in' : 'file';
}

function textOf({ modelsFile }: CatalogueConfig, env: Environment): string {
  return modelsFile === undefined ? builtIn(env) : readFileSync(modelsFile, 'utf8');
}

function nameOf({ modelsFile }: CatalogueConfig): string {
  return modelsFile ?? 'the built-in catalogue';
}

function builtIn(env: Environment): string {
  return env['OPENAI_API_KEY'] ? openAiCatalogue(env['OPENAI_BASE_URL'], env['OPENAI_IMAGE_MODEL']) : SANDBOX_CATALOGUE;
}
