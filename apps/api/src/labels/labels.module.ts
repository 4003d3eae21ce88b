import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { EndUserStatesModule } from '#accounts/end-user-states.module.js';
import { BillingModule } from '#billing/billing.module.js';
import { LimitsModule } from '../limits/limits.module.js';
import { LabelRequests } from './request-labels.js';

/** End users and tags of requests. */
@Module({
  imports: [AccountsModule, BillingModule, EndUserStatesModule, LimitsModule],
  providers: [LabelRequests],
  exports: [LabelRequests],
})
export class LabelsModule {}
