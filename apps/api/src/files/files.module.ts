import { Module } from '@nestjs/common';
import { StorageModule } from '#storage/storage.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { LinksModule } from '../common/links.module.js';
import { FilesController } from './files.controller.js';
import { LinkReads } from './link-reads.js';

/** `/i/`: finished images through signed links. */
@Module({
  imports: [LinksModule, StorageModule, TasksModule],
  providers: [LinkReads],
  controllers: [FilesController],
  exports: [LinkReads],
})
export class FilesModule {}
