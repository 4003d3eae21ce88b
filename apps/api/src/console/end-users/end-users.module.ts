import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { EndUserStatesModule } from '#accounts/end-user-states.module.js';
import { BillingModule } from '#billing/billing.module.js';
import { EndUsersController } from './end-users.controller.js';
import { ShownEndUsers } from './shown-end-users.js';

/** End users that are flagged, paused, or blocked, and those whose requests are refused. */
@Module({
  imports: [AccountsModule, BillingModule, EndUserStatesModule],
  controllers: [EndUsersController],
  providers: [ShownEndUsers],
})
export class EndUsersModule {}
