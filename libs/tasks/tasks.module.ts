import { Module, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Database } from '#database/database.js';
import { DatabaseModule } from '#database/database.module.js';
import { ImageQueue } from '#queue/image-queue.js';
import { QueueConfig } from '#queue/queue.config.js';
import { QueueLine } from '#queue/queue-line.js';
import { QueueHealth } from '#queue/queue-health.js';
import { PRODUCER_REDIS, QueueModule } from '#queue/queue.module.js';
import { ServiceTimes } from '#queue/service-times.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { Admission } from './admission.js';
import { SendDeliveries } from '#webhooks/send-deliveries.js';
import { WebhooksModule } from '#webhooks/webhooks.module.js';
import { CancelTask } from './cancel-task.js';
import { watchQueue } from './queue-gauges.js';
import { RetractTasks } from './retract-tasks.js';
import { SubmitTask } from './submit-task.js';
import { SweepTasks } from './sweep-tasks.js';
import { Sweeper } from './sweeper.js';
import { TaskBell } from './task-events.js';
import { TaskEstimates } from './task-estimates.js';
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
  {
    provide: RetractTasks,
    inject: [Database, Logger],
    useFactory: (database: Database, logger: Logger) => new RetractTasks(database, logger),
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
    inject: [PRODUCER_REDIS, QueueConfig, TasksConfig, Database],
    useFactory: (redis: Redis, queue: QueueConfig, config: TasksConfig, { pool }: Database) =>
      new TaskSlots(redis, queue.redisPrefix, config, pool),
  },
  {
    provide: TaskEstimates,
    inject: [ServiceTimes, QueueLine, QueueHealth],
    useFactory: (...parts: ConstructorParameters<typeof TaskEstimates>) => new TaskEstimates(...parts),
  },
  {
    provide: Admission,
    inject: [ImageQueue, TaskSlots, TaskEstimates, QueueHealth, TasksConfig, Logger],
    useFactory: (
      queue: ImageQueue,
      slots: TaskSlots,
      estimates: TaskEstimates,
      health: QueueHealth,
      config: TasksConfig,
      logger: Logger,
    ) => new Admission({ queue, slots, estimates }, health, config, logger),
  },
  {
    provide: SubmitTask,
    inject: [TaskIntake, Admission, TasksConfig, Metrics, RetractTasks],
    useFactory: (...parts: ConstructorParameters<typeof SubmitTask>) => new SubmitTask(...parts),
  },
  {
    provide: CancelTask,
    inject: [TaskStore, TaskBell, ImageQueue, TaskSlots, SendDeliveries, Metrics, Logger],
    useFactory: (
      store: TaskStore,
      bell: TaskBell,
      queue: ImageQueue,
      slots: TaskSlots,
      deliveries: SendDeliveries,
      metrics: Metrics,
      logger: Logger,
    ) => new CancelTask(store, { bell, queue, slots, deliveries }, metrics, logger),
  },
  {
    provide: 'QUEUE_GAUGES',
    inject: [Metrics, QueueLine, QueueHealth, Database, ServiceTimes],
    useFactory: watchQueue,
  },
  {
    provide: SweepTasks,
    inject: [Database, ImageQueue, TaskBell, TaskSlots, Logger],
    useFactory: (...parts: ConstructorParameters<typeof SweepTasks>) => new SweepTasks(...parts),
  },
  {
    provide: Sweeper,
    inject: [SweepTasks, SendDeliveries, TasksConfig, Logger, Metrics],
    useFactory: (
      sweep: SweepTasks,
      deliveries: SendDeliveries,
      config: TasksConfig,
      logger: Logger,
      metrics: Metrics,
    ) => new Sweeper(sweep, deliveries, config.sweepIntervalMs, logger, metrics),
  },
];

/** The task rows and what keeps them moving. Whoever imports it sweeps: API and worker alike. */
@Module({
  imports: [DatabaseModule, QueueModule, WebhooksModule],
  providers,
  exports: [...providers, DatabaseModule, QueueModule, WebhooksModule],
})
export class TasksModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(private readonly sweeper: Sweeper) {}

  onApplicationBootstrap(): void {
    this.sweeper.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.sweeper.stop();
  }
}
