import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { AccountDefaults } from './account-defaults.js';

/** Default settings of accounts and their keys. */
@Module({ imports: [AccountsModule], providers: [AccountDefaults], exports: [AccountDefaults] })
export class AccountDefaultsModule {}
