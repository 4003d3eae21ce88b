import { Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { RoutingModule } from '#routing/routing.module.js';
import { TaskEstimates } from '#tasks/task-estimates.js';
import { TasksModule, TaskListenersModule } from '#tasks/tasks.module.js';
import { CommonModule } from '../common/common.module.js';
import { LinksModule } from '../common/links.module.js';
import { CancelOwnTask } from './cancel-own-task.js';
import { FollowTask } from './follow-task.js';
import { TaskWatchers } from './task-watchers.js';
import { TasksController } from './tasks.controller.js';

/** `/v1/tasks`. The rows are those of the library's TasksModule; this is what callers see of them. */
@Module({
  imports: [CommonModule, LinksModule, TaskListenersModule, RoutingModule, TasksModule],
  controllers: [TasksController],
  providers: [CancelOwnTask, FollowTask, TaskWatchers],
  exports: [FollowTask],
})
export class TasksApiModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(private readonly estimates: TaskEstimates) {}

  /** Only a process that tells callers how long their tasks take keeps up with the record. */
  onApplicationBootstrap(): void {
    this.estimates.start();
  }

  onApplicationShutdown(): void {
    this.estimates.close();
  }
}
