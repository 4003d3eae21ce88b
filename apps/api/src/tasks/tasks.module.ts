import { Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { RoutingModule } from '#routing/routing.module.js';
import { TaskEstimates } from '#tasks/admission/task-estimates.js';
import { TasksModule, TaskListenersModule } from '#tasks/tasks.module.js';
import { CommonModule } from '../common/common.module.js';
import { LinksModule } from '../common/links.module.js';
import { AccountsModule } from '#accounts/accounts.module.js';
import { CancelOwnTask } from './cancel-own-task.js';
import { DecideTaskController } from './decide-task.controller.js';
import { FollowTask } from './follow-task.js';
import { FollowerLimit } from './follower-limit.js';
import { TaskWatchers } from './task-watchers.js';
import { TasksController } from './tasks.controller.js';

/** `/v1/tasks`: the tasks of the library's TasksModule, as callers see them. */
@Module({
  imports: [AccountsModule, CommonModule, LinksModule, TaskListenersModule, RoutingModule, TasksModule],
  controllers: [TasksController, DecideTaskController],
  providers: [CancelOwnTask, FollowTask, FollowerLimit, TaskWatchers],
  exports: [FollowTask],
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
