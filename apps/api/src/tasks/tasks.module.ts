import { Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { TaskViews } from '#answers/task-views.js';
import { WaitingModule } from '#answers/waiting.module.js';
import { ErasureModule } from '#erasure/erasure.module.js';
import { RoutingModule } from '#routing/routing.module.js';
import { TaskEstimates } from '#tasks/admission/task-estimates.js';
import { TasksModule, TaskListenersModule } from '#tasks/tasks.module.js';
import { CommonModule } from '../common/common.module.js';
import { LinksModule } from '../common/links.module.js';
import { AccountsModule } from '#accounts/accounts.module.js';
import { CancelOwnTask } from './cancel-own-task.js';
import { DecideTaskController } from './decide-task.controller.js';
import { DeleteOwnTask } from './delete-own-task.js';
import { FollowTask } from './follow-task.js';
import { FollowerLimit } from './follower-limit.js';
import { TaskWatchers } from './task-watchers.js';
import { ReceiptsController } from './receipts.controller.js';
import { TasksController } from './tasks.controller.js';

/** `/v1/tasks`: the tasks of the library's TasksModule, as callers see them. */
@Module({
  imports: [
    AccountsModule,
    CommonModule,
    ErasureModule,
    LinksModule,
    TaskListenersModule,
    RoutingModule,
    TasksModule,
    WaitingModule,
  ],
  controllers: [TasksController, DecideTaskController, ReceiptsController],
  providers: [CancelOwnTask, DeleteOwnTask, FollowTask, FollowerLimit, TaskViews, TaskWatchers],
  exports: [CancelOwnTask, FollowTask, TaskWatchers],
})
export class TasksApiModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(private readonly estimates: TaskEstimates) {}

  /** Only processes that give callers estimates load the service times. */
  onApplicationBootstrap(): void {
    this.estimates.start();
  }

  onApplicationShutdown(): void {
    this.estimates.close();
  }
}
