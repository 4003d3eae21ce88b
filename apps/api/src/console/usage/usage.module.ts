import { Module } from '@nestjs/common';
import { BillingModule } from '#billing/billing.module.js';
import { UsageController } from './usage.controller.js';

/** What an account has used, and what that cost. */
@Module({ imports: [BillingModule], controllers: [UsageController] })
export class UsageModule {}
