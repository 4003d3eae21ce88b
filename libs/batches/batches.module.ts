import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { BatchRepository } from './batch.repository.js';
import { BatchSteps } from './batch-steps.repository.js';

/** The rows of batches: callers create, read and cancel them, and they advance step by step. */
@Module({
  imports: [DatabaseModule],
  providers: [BatchRepository, BatchSteps],
  exports: [BatchRepository, BatchSteps],
})
export class BatchRowsModule {}
