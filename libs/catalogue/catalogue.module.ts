import { Module, type DynamicModule } from '@nestjs/common';
import { Logger } from '#telemetry/logger.js';
import { CatalogueConfig } from './catalogue.config.js';
import { CatalogueSource } from './catalogue-source.js';

/** Gives every room of a process the one catalogue. */
@Module({})
export class CatalogueModule {
  /** `env` holds the secrets that a catalogue names. */
  static forRoot(env: Readonly<Record<string, string | undefined>>): DynamicModule {
    const source = {
      provide: CatalogueSource,
      inject: [CatalogueConfig, Logger],
      useFactory: (config: CatalogueConfig, logger: Logger) => {
        const opened = new CatalogueSource(config, env, logger);
        opened.watch();
        return opened;
      },
    };
    return { module: CatalogueModule, global: true, providers: [source], exports: [source] };
  }
}
