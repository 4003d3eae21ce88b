import { Module } from '@nestjs/common';
import { TaskLinks } from '#answers/task-links.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { ResultLinks } from '#storage/result-links.js';
import { LinkSigner } from '#storage/signed-link.js';
import { StorageConfig } from '#storage/storage.config.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { ApiConfig, publicUrlOf } from './api.config.js';
import { TellCost } from './tell-cost.js';

const signer = {
  provide: LinkSigner,
  inject: [SecretsConfig, ApiConfig],
  useFactory: ({ secretKey, secretKeyPrevious }: SecretsConfig, config: ApiConfig) =>
    new LinkSigner({ secretKey, previousSecretKey: secretKeyPrevious }, publicUrlOf(config)),
};
const results = {
  provide: ResultLinks,
  inject: [StorageConfig, LinkSigner],
  useFactory: (config: StorageConfig, links: LinkSigner) => new ResultLinks(config, links),
};

/** Signed links, and tasks with their links and their cost. */
@Module({
  imports: [TasksModule],
  providers: [signer, results, TaskLinks, TellCost],
  exports: [LinkSigner, ResultLinks, TaskLinks, TellCost],
})
export class LinksModule {}
