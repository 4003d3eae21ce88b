import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { BillingModule } from '#billing/billing.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { UsageController } from './usage.controller.js';

/** An account's usage and its cost. */
@Module({ imports: [AccountsModule, BillingModule, TasksModule], controllers: [UsageController] })
export class UsageModule {}
