import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { UploadStore } from './upload-store.js';

/** The rows of uploads: uploading adds them, image requests name them. */
@Module({ imports: [DatabaseModule], providers: [UploadStore], exports: [UploadStore] })
export class UploadStoreModule {}
