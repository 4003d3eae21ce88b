import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { AccountDefaults } from './account-defaults.js';

/** What holds for accounts and their keys where nothing is set. */
@Module({ imports: [AccountsModule], providers: [AccountDefaults], exports: [AccountDefaults] })
export class AccountDefaultsModule {}
