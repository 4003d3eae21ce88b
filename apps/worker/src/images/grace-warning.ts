import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { CatalogSource } from '#catalog/catalog-source.js';
import { Logger } from '#telemetry/logger.js';
import { ShutdownGrace } from './shutdown-grace.js';

/** Tells of a SHUTDOWN_GRACE_MS that is too short for the catalog: at the start, and whenever the catalog changes. */
@Injectable()
export class GraceWarning implements OnApplicationBootstrap {
  constructor(
    private readonly grace: ShutdownGrace,
    private readonly source: CatalogSource,
    private readonly logger: Logger,
  ) {}

  /** By then, what the console adds is known. */
  onApplicationBootstrap(): void {
    this.tell();
    this.source.onChange(() => this.tell());
  }

  private tell(): void {
    const reason = this.grace.problem;
    if (reason !== undefined) this.logger.warn('shutdown.grace_short', { setting: 'SHUTDOWN_GRACE_MS', reason });
  }
}
