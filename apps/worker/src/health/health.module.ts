import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { HealthChecksModule } from '#health/health-checks.module.js';
import { Probes } from './probes.js';

/** Serves probes, and holds jobs back until the migrations are applied. */
@Module({ imports: [DatabaseModule, HealthChecksModule], providers: [Probes] })
export class HealthModule {}
