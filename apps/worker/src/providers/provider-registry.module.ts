import { Module, type DynamicModule } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { CatalogSource } from '#catalog/catalog-source.js';
import { ConsoleCatalog } from '#catalog/console-catalog.js';
import { EgressConfig } from '#egress/egress.config.js';
import { DOWNLOAD_LIMITS, PublicFetcher } from '#egress/fetch-public-url.js';
import { MAX_IMAGE_BYTES } from '#images/limits.js';
import { adapterProblems, loadAdapters } from '#providers/descriptors.js';
import { ProviderRegistry } from './provider-registry.js';
import { GraceWarning, ShutdownGrace } from './shutdown-grace.js';

/** Provides the image providers and the shutdown grace that they need. */
@Module({})
export class ProviderRegistryModule {
  /** Uses the given registry, or else the adapters of the catalog. */
  static forRoot(registry?: ProviderRegistry): DynamicModule {
    const provider = {
      provide: ProviderRegistry,
      inject: [CatalogSource, ConsoleCatalog, EgressConfig, ModuleRef],
      useFactory: (...parts: Parameters<typeof registryOf>) => registry ?? registryOf(...parts),
    };
    return {
      module: ProviderRegistryModule,
      global: true,
      providers: [provider, ShutdownGrace, GraceWarning],
      exports: [provider, ShutdownGrace],
    };
  }
}

/** Adapters for the catalog. Rejects a file with an entry that no adapter can be created for. */
async function registryOf(
  source: CatalogSource,
  added: ConsoleCatalog,
  egress: EgressConfig,
  configs: ModuleRef,
): Promise<ProviderRegistry> {
  const fetcher = new PublicFetcher(egress, undefined, { ...DOWNLOAD_LIMITS, maxBytes: MAX_IMAGE_BYTES });
  const make = await loadAdapters({ settings: (config) => configs.get(config, { strict: false }), fetcher });
  source.check(({ providers }) => adapterProblems(providers.values(), make));
  return new ProviderRegistry(source, make, () => added.refresh());
}
