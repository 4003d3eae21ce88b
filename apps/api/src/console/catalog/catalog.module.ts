import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { CatalogController } from './catalog.controller.js';
import { CheckConnection } from './check-connection.js';
import { ConnectionController } from './connection.controller.js';

/** Providers, models, prices and routes that operators edit in the console. Needs the CatalogModule. */
@Module({
  imports: [AccountsModule],
  controllers: [CatalogController, ConnectionController],
  providers: [CheckConnection],
})
export class ConsoleCatalogModule {}
