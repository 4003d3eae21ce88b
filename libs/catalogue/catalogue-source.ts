import type { OnApplicationShutdown } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Logger } from '#telemetry/logger.js';
import { openAiCatalogue, SANDBOX_CATALOGUE } from './built-in.js';
import { CatalogueError, type Catalogue } from './catalogue.js';
import type { CatalogueConfig } from './catalogue.config.js';
import { parseCatalogue } from './parse-catalogue.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** What is wrong with a catalogue, in words that name the entry. */
type ProblemsOf = (catalogue: Catalogue) => readonly string[];

/**
 * The catalogue in force. A file is read again and again; when it has changed, it replaces the old one whole, or is
 * refused whole with the reason in the log. Whoever asks should ask anew each time.
 */
export class CatalogueSource implements OnApplicationShutdown {
  private held: Catalogue;
  private text: string;
  private timer: NodeJS.Timeout | undefined;
  private problemsOf: ProblemsOf = () => [];

  /** Throws CatalogueError, or the file system's error when MODELS_FILE can't be read. */
  constructor(
    private readonly config: CatalogueConfig,
    private readonly env: Environment,
    private readonly logger: Logger,
  ) {
    this.text = textOf(config, env);
    this.held = parseCatalogue(this.text, nameOf(config), env);
  }

  /**
   * Refuses every catalogue that this finds problems in, from now on. Throws CatalogueError when the one in force is
   * such.
   */
  check(problemsOf: ProblemsOf): void {
    this.problemsOf = problemsOf;
    this.checked(this.held);
  }

  get current(): Catalogue {
    return this.held;
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

  private checked(catalogue: Catalogue): Catalogue {
    const problems = this.problemsOf(catalogue);
    if (problems.length === 0) return catalogue;
    throw new CatalogueError(this.config.modelsFile ?? 'the built-in catalogue', problems);
  }

  private async reload(modelsFile: string): Promise<void> {
    const text = await readFile(modelsFile, 'utf8');
    if (text === this.text) return;
    this.text = text;
    try {
      this.held = this.checked(parseCatalogue(text, modelsFile, this.env));
      this.logger.info('catalogue.loaded', { count: this.held.models.size });
    } catch (error) {
      if (!(error instanceof CatalogueError)) throw error;
      this.logger.error('catalogue.refused', { error });
    }
  }
}

/** The catalogue as it is now, for a command that calls nobody: secrets that are not set are empty. Throws like CatalogueSource. */
export function readCatalogue(config: CatalogueConfig, env: Environment): Catalogue {
  return parseCatalogue(textOf(config, env), nameOf(config), env, false);
}

function textOf({ modelsFile }: CatalogueConfig, env: Environment): string {
  return modelsFile === undefined ? builtIn(env) : readFileSync(modelsFile, 'utf8');
}

function nameOf({ modelsFile }: CatalogueConfig): string {
  return modelsFile ?? 'the built-in catalogue';
}

function builtIn(env: Environment): string {
  return env.OPENAI_API_KEY ? openAiCatalogue(env.OPENAI_BASE_URL, env.OPENAI_IMAGE_MODEL) : SANDBOX_CATALOGUE;
}
