import { Module, type DynamicModule } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { CatalogueSource } from '#catalogue/catalogue-source.js';
import { ConsoleCatalogue } from '#catalogue/console-catalogue.js';
import { EgressConfig } from '#egress/egress.config.js';
import { PublicFetcher } from '#egress/fetch-public-url.js';
import { MAX_IMAGE_BYTES } from '#images/limits.js';
import { adapterProblems, loadAdapters } from './make-provider.js';
import { ProviderRegistry } from './provider-registry.js';
import { ShutdownGrace } from './shutdown-grace.js';

/** Who makes the images, and how long a stop waits for them. */
@Module({})
export class ProviderRegistryModule {
  /** The given registry; absent, the adapters of the catalogue. */
  static forRoot(registry?: ProviderRegistry): DynamicModule {
    const provider = {
      provide: ProviderRegistry,
      inject: [CatalogueSource, ConsoleCatalogue, EgressConfig, ModuleRef],
      useFactory: (...parts: Parameters<typeof registryOf>) => registry ?? registryOf(...parts),
    };
    return {
      module: ProviderRegistryModule,
      global: true,
      providers: [provider, ShutdownGrace],
      exports: [provider, ShutdownGrace],
    };
  }
}

/** The adapters of the catalogue; a file that holds an entry of which none can be made is refused. */
async function registryOf(
  source: CatalogueSource,
  added: ConsoleCatalogue,
  egress: EgressConfig,
  configs: ModuleRef,
): Promise<ProviderRegistry> {
  const fetcher = new PublicFetcher({ ...egress, maxBytes: MAX_IMAGE_BYTES });
  const make = await loadAdapters({ settings: (config) => configs.get(config, { strict: false }), fetcher });
  source.check((catalogue) => adapterProblems(catalogue, make));
  return new ProviderRegistry(source, make, () => added.refresh());
}
