import { Module } from '@nestjs/common';
import { BatchRowsModule } from '#batches/batches.module.js';
import { StorageModule } from '#storage/storage.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { UploadRowsModule } from '#uploads/upload-rows.module.js';
import { AuthModule } from '../auth/auth.module.js';
import { CommonModule } from '../common/common.module.js';
import { LinksModule } from '../common/links.module.js';
import { FilesModule } from '../files/files.module.js';
import { ImagesModule } from '../images/images.module.js';
import { TasksApiModule } from '../tasks/tasks.module.js';
import { AdvanceBatch } from './advance-batch.js';
import { BatchFilesController } from './batch-files.controller.js';
import { BatchRoom } from './batch-room.js';
import { BatchesController } from './batches.controller.js';
import { CallChats } from './call-chats.js';
import { DownloadResults } from './download-results.js';
import { KeepFile } from './keep-file.js';
import { RunBatches } from './run-batches.js';
import { SendFile } from './send-file.js';
import { SubmitLine } from './submit-line.js';
import { WriteResults } from './write-results.js';

/** `/v1/files` and `/v1/batches`: image requests in a file, which become tasks behind all others of their account. */
@Module({
  imports: [
    AuthModule,
    BatchRowsModule,
    CommonModule,
    FilesModule,
    ImagesModule,
    LinksModule,
    StorageModule,
    TasksApiModule,
    TasksModule,
    UploadRowsModule,
  ],
  controllers: [BatchFilesController, BatchesController],
  providers: [
    AdvanceBatch,
    BatchRoom,
    CallChats,
    DownloadResults,
    KeepFile,
    RunBatches,
    SendFile,
    SubmitLine,
    WriteResults,
  ],
  exports: [KeepFile, RunBatches, SendFile],
})
export class BatchesModule {}
