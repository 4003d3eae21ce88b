import { Module } from '@nestjs/common';
import { AccountStore } from '#accounts/account-store.js';
import { PersonStore } from '#accounts/person-store.js';
import { DatabaseModule } from '#database/database.module.js';
import { MailModule } from '#notifications/mail/mail.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { MailApprovers } from './mail-approvers.js';

/** Emails those who may approve requests. */
@Module({
  imports: [DatabaseModule, MailModule, TasksModule],
  providers: [AccountStore, MailApprovers, PersonStore],
  exports: [MailApprovers],
})
export class ApprovalMailsModule {}
