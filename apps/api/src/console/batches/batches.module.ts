import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { BatchRowsModule } from '#batches/batches.module.js';
import { CatalogModule } from '#catalog/catalog.module.js';
import { StorageModule } from '#storage/storage.module.js';
import { UploadRowsModule } from '#uploads/upload-rows.module.js';
import { BatchesModule } from '../../batches/batches.module.js';
import { ConsoleBatchesController } from './batches.controller.js';
import { ShownBatches } from './shown-batches.js';

/** The page of batches. */
@Module({
  imports: [AccountsModule, BatchRowsModule, BatchesModule, CatalogModule, StorageModule, UploadRowsModule],
  controllers: [ConsoleBatchesController],
  providers: [ShownBatches],
})
export class ConsoleBatchesModule {}
