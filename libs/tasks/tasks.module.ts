import { Inject, Module, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Database } from '#database/database.js';
import { DatabaseModule } from '#database/database.module.js';
import { ImageQueue } from '#queue/image-queue.js';
import { QueueConfig } from '#queue/queue.config.js';
import { QueueHealth } from '#queue/queue-health.js';
import { PRODUCER_REDIS, QueueModule } from '#queue/queue.module.js';
import { Logger } from '#telemetry/logger.js';
import { CancelTask } from './cancel-task.js';
import { SubmitTask } from './submit-task.js';
import { SweepTasks } from './sweep-tasks.js';
import { Sweeper } from './sweeper.js';
import { TaskBell } from './task-events.js';
import { TaskIntake } from './task-intake.js';
import { TaskPartials } from './task-partials.js';
import { TaskMoves } from './task-moves.js';
import { TaskSlots } from './task-slots.js';
import { TaskStore } from './task-store.js';
import { TasksConfig } from './tasks.config.js';

const providers = [
  { provide: TaskStore, inject: [Database], useFactory: (database: Database) => new TaskStore(database) },
  {
    provide: TaskIntake,
    inject: [Database, TaskStore],
    useFactory: (database: Database, store: TaskStore) => new TaskIntake(database, store),
  },
  { provide: TaskMoves, inject: [Database], useFactory: (database: Database) => new TaskMoves(database) },
  {
    provide: TaskBell,
    inject: [PRODUCER_REDIS, QueueConfig],
    useFactory: (redis: Redis, config: QueueConfig) => new TaskBell(redis, config.redisPrefix),
  },
  {
    provide: TaskPartials,
    inject: [PRODUCER_REDIS, QueueConfig],
    useFactory: (redis: Redis, config: QueueConfig) => new TaskPartials(redis, config.redisPrefix),
  },
  {
    provide: TaskSlots,
    inject: [PRODUCER_REDIS, QueueConfig, TasksConfig],
    useFactory: (redis: Redis, queue: QueueConfig, config: TasksConfig) =>
      new TaskSlots(redis, queue.redisPrefix, config.maxTasksInFlight),
  },
  {
    provide: SubmitTask,
    inject: [TaskIntake, ImageQueue, TaskSlots, QueueHealth, TasksConfig, Logger],
    useFactory: (
      intake: TaskIntake,
      queue: ImageQueue,
      slots: TaskSlots,
      health: QueueHealth,
      config: TasksConfig,
      logger: Logger,
    ) => new SubmitTask(intake, { queue, slots }, health, config, logger),
  },
  {
    provide: CancelTask,
    inject: [TaskStore, ImageQueue, TaskSlots, TaskBell, Logger],
    useFactory: (...parts: ConstructorParameters<typeof CancelTask>) => new CancelTask(...parts),
  },
  {
    provide: Sweeper,
    inject: [Database, ImageQueue, TaskBell, TasksConfig, Logger],
    useFactory: (database: Database, queue: ImageQueue, bell: TaskBell, config: TasksConfig, logger: Logger) =>
      new Sweeper(new SweepTasks(database, queue, bell, logger), config.sweepIntervalMs, logger),
  },
];

/** The task rows and what keeps them moving. Whoever imports it sweeps: API and worker alike. */
@Module({ imports: [DatabaseModule, QueueModule], providers, exports: [...providers, DatabaseModule, QueueModule] })
export class TasksModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(@Inject(Sweeper) private readonly sweeper: Sweeper) {}

  onApplicationBootstrap(): void {
    this.sweeper.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.sweeper.stop();
  }
}
