import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { CatalogueController } from './catalogue.controller.js';

/** Providers, models, prices and routes, which operators change in the console. Needs the CatalogueModule. */
@Module({ imports: [AccountsModule], controllers: [CatalogueController] })
export class ConsoleCatalogueModule {}
