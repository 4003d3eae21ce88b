import { Module } from '@nestjs/common';
import { AccountDefaults } from './account-defaults.js';

/** What holds for accounts and their keys where nothing is set. */
@Module({ providers: [AccountDefaults], exports: [AccountDefaults] })
export class AccountDefaultsModule {}
