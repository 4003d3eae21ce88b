import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { QueueModule } from '#queue/queue.module.js';
import { StorageModule } from '#storage/storage.module.js';
import { DependencyChecks } from './dependency-checks.js';
import { Readiness } from './readiness.js';

/** Dependency checks of a process, for its probes and metrics. */
@Module({
  imports: [DatabaseModule, QueueModule, StorageModule],
  providers: [DependencyChecks, Readiness],
  exports: [Readiness],
})
export class HealthChecksModule {}
