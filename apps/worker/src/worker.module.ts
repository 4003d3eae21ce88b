import { BullModule } from '@nestjs/bullmq';
import { Inject, Module, type DynamicModule, type OnApplicationShutdown } from '@nestjs/common';
import { ConfigModule } from '#config/config.module.js';
import { DatabaseConfig } from '#database/database.config.js';
import { Database } from '#database/database.js';
import { EgressConfig } from '#egress/egress.config.js';
import { PublicFetcher } from '#egress/fetch-public-url.js';
import { ProviderRegistry } from '#providers/registry.js';
import { obeysDirectives, SandboxConfig } from '#providers/sandbox/sandbox.config.js';
import { SandboxProvider } from '#providers/sandbox/sandbox-provider.js';
import { ImageQueue } from '#queue/image-queue.js';
import { QueueConfig } from '#queue/queue.config.js';
import { patientConnection, workerConnection } from '#queue/connections.js';
import type { ObjectStore } from '#storage/object-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { OBJECT_STORE, StorageModule } from '#storage/storage.module.js';
import { TaskBell, TaskBellListener } from '#tasks/task-events.js';
import { TaskMoves } from '#tasks/task-moves.js';
import { TaskPartials } from '#tasks/task-partials.js';
import { TaskSlots } from '#tasks/task-slots.js';
import { TasksConfig } from '#tasks/tasks.config.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { Logger } from '#telemetry/logger.js';
import { TelemetryConfig } from '#telemetry/telemetry.config.js';
import { TelemetryModule } from '#telemetry/telemetry.module.js';
import { CollectOrphans } from './collect-orphans.js';
import { ExpireKeys } from './expire-keys.js';
import { ExpireObjects } from './expire-objects.js';
import { Holds } from './hold.js';
import { ImageProcessor } from './image.processor.js';
import { LoadInputs } from './load-inputs.js';
import { Retention } from './retention.js';
import { RunImageTask } from './run-image-task.js';
import { TaskKeeper } from './task-keeper.js';
import { WorkerConfig } from './worker.config.js';

export const WORKER_CONFIGS = [
  TelemetryConfig,
  DatabaseConfig,
  QueueConfig,
  TasksConfig,
  StorageConfig,
  EgressConfig,
  SandboxConfig,
  WorkerConfig,
] as const;

const providers = [
  { provide: PublicFetcher, inject: [EgressConfig], useFactory: (config: EgressConfig) => new PublicFetcher(config) },
  {
    provide: LoadInputs,
    inject: [OBJECT_STORE, PublicFetcher],
    useFactory: (store: ObjectStore, fetcher: PublicFetcher) => new LoadInputs(store, fetcher),
  },
  {
    provide: TaskBellListener,
    inject: [QueueConfig, Logger],
    useFactory: (config: QueueConfig, logger: Logger) =>
      new TaskBellListener(patientConnection(config, 'bell', logger), config.redisPrefix),
  },
  {
    provide: Holds,
    inject: [TaskMoves, TasksConfig, TaskBellListener, Logger],
    useFactory: (moves: TaskMoves, config: TasksConfig, bell: TaskBellListener, logger: Logger) => {
      const holds = new Holds(moves, config.leaseMs, logger);
      bell.onCancelled((taskId) => {
        holds.lose(taskId);
      });
      return holds;
    },
  },
  {
    provide: TaskKeeper,
    inject: [TaskMoves, Holds, TaskBell, ImageQueue, TaskSlots, TasksConfig, Logger],
    useFactory: (
      moves: TaskMoves,
      holds: Holds,
      bell: TaskBell,
      queue: ImageQueue,
      slots: TaskSlots,
      config: TasksConfig,
      logger: Logger,
    ) => new TaskKeeper(moves, holds, { bell, queue, slots }, config, logger),
  },
  {
    provide: RunImageTask,
    inject: [TaskKeeper, ProviderRegistry, LoadInputs, OBJECT_STORE, TaskPartials],
    useFactory: (...parts: ConstructorParameters<typeof RunImageTask>) => new RunImageTask(...parts),
  },
  {
    provide: Retention,
    inject: [Database, OBJECT_STORE, WorkerConfig, Logger],
    useFactory: (database: Database, store: ObjectStore, config: WorkerConfig, logger: Logger) =>
      new Retention(
        new ExpireObjects(database, store, config, logger),
        new CollectOrphans(database, store, logger),
        new ExpireKeys(database, logger),
        logger,
      ),
  },
  ImageProcessor,
];

/** Jobs only: no HTTP but an orchestrator's probes. */
@Module({})
export class WorkerModule implements OnApplicationShutdown {
  constructor(@Inject(TaskBellListener) private readonly bell: TaskBellListener) {}

  /** `registry` says who makes the pictures, the sandbox when absent. Throws ConfigError when settings are wrong. */
  static forRoot(env: Readonly<Record<string, string | undefined>>, registry?: ProviderRegistry): DynamicModule {
    return {
      module: WorkerModule,
      imports: [
        ConfigModule.forRoot(WORKER_CONFIGS, env),
        TelemetryModule.forRoot('worker'),
        TasksModule,
        StorageModule,
        BullModule.forRootAsync({
          inject: [QueueConfig],
          useFactory: (config: QueueConfig) => ({
            connection: workerConnection(config),
            prefix: config.redisPrefix,
          }),
        }),
        BullModule.registerQueue(),
      ],
      providers: [
        {
          provide: ProviderRegistry,
          inject: [SandboxConfig],
          useFactory: (config: SandboxConfig) => registry ?? sandboxOnly(config),
        },
        ...providers,
      ],
    };
  }

  onApplicationShutdown(): void {
    this.bell.close();
  }
}

function sandboxOnly(config: SandboxConfig): ProviderRegistry {
  return new ProviderRegistry(new Map([['gpt-image-2', new SandboxProvider(obeysDirectives(config))]]));
}
