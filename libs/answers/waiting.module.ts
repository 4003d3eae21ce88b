import { Module } from '@nestjs/common';
import { QueueModule } from '#queue/queue.module.js';
import { RoutingModule } from '#routing/routing.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { WaitingTasks } from './waiting-tasks.js';

/** Why tasks wait. Needs the CatalogModule and RoutingConfig. */
@Module({ imports: [QueueModule, RoutingModule, TasksModule], providers: [WaitingTasks], exports: [WaitingTasks] })
export class WaitingModule {}
