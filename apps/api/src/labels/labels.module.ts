import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { LabelRequests } from './request-labels.js';

/** End users and tags of requests. */
@Module({ imports: [AccountsModule], providers: [LabelRequests], exports: [LabelRequests] })
export class LabelsModule {}
