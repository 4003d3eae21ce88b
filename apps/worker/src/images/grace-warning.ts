import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { CatalogSource } from '#catalog/catalog-source.js';
import { Logger } from '#telemetry/logger.js';
import { ShutdownGrace } from './shutdown-grace.js';

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
    this.tell();
    this.source.onChange(() => this.tell());
  }

  private tell(): void {
    const reason = this.grace.problem;
    if (reason !== undefined) this.logger.warn('shutdown.grace_short', { setting: 'SHUTDOWN_GRACE_MS', reason });
  }
}
