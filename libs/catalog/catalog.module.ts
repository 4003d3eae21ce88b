import { Module, type DynamicModule } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { CATALOG_ENVIRONMENT, CatalogSource } from './catalog-source.js';
import { ConsoleCatalog } from './console-catalog.js';
import { EditCatalog } from './edit-catalog.js';
import { PROVIDER_KEYS, ProviderKeyStore } from './provider-key-store.js';
import { RevisionRepository } from './revision.repository.js';

/** Seals only provider keys; other modules use keys of their own. */
const sealer = {
  provide: TextSealer,
  inject: [SecretsConfig],
  useFactory: (secrets: SecretsConfig) => new TextSealer(secrets, PROVIDER_KEYS),
};
const parts = [CatalogSource, ConsoleCatalog, RevisionRepository, EditCatalog];

/** Provides the catalog to all modules of a process. */
@Module({})
export class CatalogModule {
  /** `env` contains the secrets that the catalog's keys refer to. */
  static forRoot(env: Readonly<Record<string, string | undefined>>): DynamicModule {
    return {
      module: CatalogModule,
      global: true,
      imports: [DatabaseModule],
      providers: [{ provide: CATALOG_ENVIRONMENT, useValue: env }, sealer, ProviderKeyStore, ...parts],
      exports: parts,
    };
  }
}
