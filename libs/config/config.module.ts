import { Module, type DynamicModule } from '@nestjs/common';
import { loadConfig } from './load-config.js';

/** Makes each config class injectable as one frozen, validated instance. */
@Module({})
export class ConfigModule {
  /** Throws ConfigError with every problem of every class. */
  static forRoot(
    classes: readonly (new () => object)[],
    env: Readonly<Record<string, string | undefined>>,
  ): DynamicModule {
    const instances = loadConfig(classes, env);
    const providers = classes.map((provide, index) => ({ provide, useValue: instances[index] as object }));
    return { module: ConfigModule, global: true, providers, exports: providers };
  }
}
