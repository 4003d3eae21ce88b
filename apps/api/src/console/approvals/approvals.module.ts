import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { ConsoleTasksModule } from '../tasks/tasks.module.js';
import { ApprovalsController } from './approvals.controller.js';
import { ShownApprovals } from './shown-approvals.js';

/** Approval of requests above a price. */
@Module({
  imports: [AccountsModule, TasksModule, ConsoleTasksModule],
  controllers: [ApprovalsController],
  providers: [ShownApprovals],
})
export class ApprovalsModule {}
