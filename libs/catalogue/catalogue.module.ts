import { Module, type DynamicModule } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { CATALOGUE_ENVIRONMENT, CatalogueSource } from './catalogue-source.js';
import { ConsoleCatalogue } from './console-catalogue.js';
import { EditCatalogue } from './edit-catalogue.js';
import { PROVIDER_KEYS, ProviderKeyStore } from './provider-key-store.js';
import { RevisionRepository } from './revision.repository.js';

/** This room's own: its key is no other room's. */
const sealer = {
  provide: TextSealer,
  inject: [SecretsConfig],
  useFactory: (secrets: SecretsConfig) => new TextSealer(secrets, PROVIDER_KEYS),
};
const parts = [CatalogueSource, ConsoleCatalogue, RevisionRepository, EditCatalogue];

/** Gives every room of a process the one catalogue. */
@Module({})
export class CatalogueModule {
  /** `env` holds the secrets that a catalogue names. */
  static forRoot(env: Readonly<Record<string, string | undefined>>): DynamicModule {
    return {
      module: CatalogueModule,
      global: true,
      imports: [DatabaseModule],
      providers: [{ provide: CATALOGUE_ENVIRONMENT, useValue: env }, sealer, ProviderKeyStore, ...parts],
      exports: parts,
    };
  }
}
