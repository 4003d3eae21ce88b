import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { Logger } from '#telemetry/logger.js';
import { DatabaseConfig } from './database.config.js';
import { Database } from './database.js';

const database = {
  provide: Database,
  inject: [DatabaseConfig, Logger],
  useFactory: (config: DatabaseConfig, logger: Logger) => new Database(config, logger),
};

/** The last room to close: queue and tasks still write while they stop. */
@Module({ providers: [database], exports: [database] })
export class DatabaseModule implements OnApplicationShutdown {
  constructor(private readonly database: Database) {}

  async onApplicationShutdown(): Promise<void> {
    await this.database.close();
  }
}
