import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { BillingModule } from '#billing/billing.module.js';
import { AuthModule } from '../../auth/auth.module.js';
import { AccountDefaults } from './account-defaults.js';
import { AccountKeys } from './account-keys.js';
import { KeysController } from './keys.controller.js';

/** The API keys of an account, and the default limits of accounts and keys. */
@Module({
  imports: [AccountsModule, AuthModule, BillingModule],
  controllers: [KeysController],
  providers: [AccountDefaults, AccountKeys],
  exports: [AccountDefaults, AccountKeys],
})
export class KeysModule {}
