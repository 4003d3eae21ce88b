import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { StorageModule } from '#storage/storage.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { UploadRowsModule } from '#uploads/upload-rows.module.js';
import { EraseMatching } from './erase-matching.js';
import { EraseTasks } from './erase-tasks.js';
import { Receipts } from './receipts.js';

/** Erases deleted tasks, and proves it. The API erases at once; workers finish whatever is left. */
@Module({
  imports: [DatabaseModule, StorageModule, TasksModule, UploadRowsModule],
  providers: [EraseMatching, EraseTasks, Receipts],
  exports: [EraseMatching, EraseTasks, Receipts, TasksModule],
})
export class ErasureModule {}
