import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { CatalogSource } from '#catalog/catalog-source.js';
import { graceFor, graceProblem } from '#providers/descriptors.js';
import { Logger } from '#telemetry/logger.js';
import { WorkerConfig } from '../worker.config.js';
import { ProviderRegistry } from './provider-registry.js';

/** How long a stopping worker waits for its running tasks. */
@Injectable()
export class ShutdownGrace {
  constructor(
    private readonly config: WorkerConfig,
    private readonly providers: ProviderRegistry,
  ) {}

  /** The configured time, or else the time that the current catalog needs. */
  get ms(): number {
    return this.config.shutdownGraceMs ?? graceFor(this.providers.longestCall());
  }

  /** Says which calls of the current catalog the configured time would cut off; undefined when none. */
  get problem(): string | undefined {
    return graceProblem(this.ms, this.providers.longestCall());
  }
}

/** Warns when SHUTDOWN_GRACE_MS is too short for the catalog: at startup, and whenever the catalog changes. */
@Injectable()
export class GraceWarning implements OnApplicationBootstrap {
  constructor(
    private readonly grace: ShutdownGrace,
    private readonly source: CatalogSource,
    private readonly logger: Logger,
  ) {}

  /** Runs after the console's catalog entries are loaded. */
  onApplicationBootstrap(): void {
    this.warn();
    this.source.onChange(() => this.warn());
  }

  private warn(): void {
    const reason = this.grace.problem;
    if (reason !== undefined) this.logger.warn('shutdown.grace_short', { setting: 'SHUTDOWN_GRACE_MS', reason });
  }
}
