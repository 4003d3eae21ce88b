import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { QueueModule } from '#queue/queue.module.js';
import { StorageModule } from '#storage/storage.module.js';
import { CommonModule } from '../common/common.module.js';
import { HealthController } from './health.controller.js';
import { Readiness } from './readiness.js';

/** `/healthz` and `/readyz`. */
@Module({
  imports: [CommonModule, DatabaseModule, QueueModule, StorageModule],
  controllers: [HealthController],
  providers: [Readiness],
})
export class HealthModule {}
