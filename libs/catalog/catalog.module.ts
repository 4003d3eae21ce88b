import { Module, type DynamicModule } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { CATALOG_ENVIRONMENT, CatalogSource } from './catalog-source.js';
import { ConsoleCatalog } from './console-catalog.js';
import { EditCatalog } from './edit-catalog.js';
import { PROVIDER_KEYS, ProviderKeyStore } from './provider-key-store.js';
import { RevisionRepository } from './revision.repository.js';

/** This room's own: its key is no other room's. */
const sealer = {
  provide: TextSealer,
  inject: [SecretsConfig],
  useFactory: (secrets: SecretsConfig) => new TextSealer(secrets, PROVIDER_KEYS),
};
const parts = [CatalogSource, ConsoleCatalog, RevisionRepository, EditCatalog];

/** Gives every room of a process the one catalog. */
@Module({})
export class CatalogModule {
  /** `env` holds the secrets that a catalog names. */
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
