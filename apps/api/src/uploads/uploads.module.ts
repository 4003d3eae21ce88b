import { Module } from '@nestjs/common';
import { StorageModule } from '#storage/storage.module.js';
import { UploadRowsModule } from '#uploads/upload-rows.module.js';
import { CommonModule } from '../common/common.module.js';
import { LinksModule } from '../common/links.module.js';
import { KeepImage } from './keep-image.js';
import { UploadsController } from './uploads.controller.js';

/** `/v1/uploads/images`: reference images that are uploaded once and used in many requests. */
@Module({
  imports: [CommonModule, LinksModule, StorageModule, UploadRowsModule],
  controllers: [UploadsController],
  providers: [KeepImage],
})
export class UploadsModule {}
