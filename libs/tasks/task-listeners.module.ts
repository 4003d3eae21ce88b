import { Module } from '@nestjs/common';
import { ListeningRedisModule } from '#redis/listening-redis.module.js';
import { TaskEventListener } from './task-events.js';
import { TaskPartialsListener } from './task-partials.js';

const listeners = [TaskEventListener, TaskPartialsListener];

/** For processes that hear of tasks: workers of cancels, the API of everything. */
@Module({ imports: [ListeningRedisModule], providers: listeners, exports: listeners })
export class TaskListenersModule {}
