import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { BillingModule } from '#billing/billing.module.js';
import { UsageController } from './usage.controller.js';

/** An account's usage and its cost. */
@Module({ imports: [AccountsModule, BillingModule], controllers: [UsageController] })
export class UsageModule {}
