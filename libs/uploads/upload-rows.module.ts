import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { UploadRepository } from './upload.repository.js';

/** The rows of uploads: uploading adds them, image requests refer to them, and they expire. */
@Module({ imports: [DatabaseModule], providers: [UploadRepository], exports: [UploadRepository] })
export class UploadRowsModule {}
