import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { EndUserStatesModule } from '#accounts/end-user-states.module.js';
import { LabelRequests } from './request-labels.js';

/** End users and tags of requests. */
@Module({ imports: [AccountsModule, EndUserStatesModule], providers: [LabelRequests], exports: [LabelRequests] })
export class LabelsModule {}
