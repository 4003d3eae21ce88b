import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { NotificationsModule } from '#notifications/notifications.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { AuditTargets } from './audit-targets.js';
import { AuditController } from './audit.controller.js';

/** An account's audit log. */
@Module({
  imports: [AccountsModule, NotificationsModule, TasksModule],
  controllers: [AuditController],
  providers: [AuditTargets],
})
export class AuditModule {}
