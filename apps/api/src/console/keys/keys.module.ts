import { Module } from '@nestjs/common';
import { BillingModule } from '#billing/billing.module.js';
import { DatabaseModule } from '#database/database.module.js';
import { AccountsModule } from '#accounts/accounts.module.js';
import { AccountDefaultsModule } from '../team/account-defaults.module.js';
import { AccountKeys } from './account-keys.js';
import { KeysController } from './keys.controller.js';

/** The API keys of an account. */
@Module({
  imports: [AccountDefaultsModule, BillingModule, DatabaseModule, AccountsModule],
  controllers: [KeysController],
  providers: [AccountKeys],
})
export class KeysModule {}
