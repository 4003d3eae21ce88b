import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { CatalogController } from './catalog.controller.js';

/** Providers, models, prices and routes, which operators change in the console. Needs the CatalogModule. */
@Module({ imports: [AccountsModule], controllers: [CatalogController] })
export class ConsoleCatalogModule {}
