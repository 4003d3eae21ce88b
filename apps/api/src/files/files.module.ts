import { Module } from '@nestjs/common';
import { StorageModule } from '#storage/storage.module.js';
import { LinksModule } from '../common/links.module.js';
import { FilesController } from './files.controller.js';

/** `/i/`: finished images through signed links. */
@Module({ imports: [LinksModule, StorageModule], controllers: [FilesController] })
export class FilesModule {}
