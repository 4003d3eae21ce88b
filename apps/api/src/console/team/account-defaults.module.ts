import { Module } from '@nestjs/common';
import { PeopleModule } from '../../common/people.module.js';
import { AccountDefaults } from './account-defaults.js';

/** What holds for accounts and their keys where nothing is set. */
@Module({ imports: [PeopleModule], providers: [AccountDefaults], exports: [AccountDefaults] })
export class AccountDefaultsModule {}
