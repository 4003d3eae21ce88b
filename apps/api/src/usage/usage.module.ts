import { Module } from '@nestjs/common';
import { BillingModule } from '#billing/billing.module.js';
import { PublicUsageController } from './usage.controller.js';

/** `/v1/usage`: usage and cost, as API keys see them. */
@Module({ imports: [BillingModule], controllers: [PublicUsageController] })
export class PublicUsageModule {}
