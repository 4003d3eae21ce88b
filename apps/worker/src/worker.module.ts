import { BullModule } from '@nestjs/bullmq';
import {
  Module,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { TaskLinks } from '#answers/task-links.js';
import type { Redis } from 'ioredis';
import { ConfigModule } from '#config/config.module.js';
import { DatabaseConfig } from '#database/database.config.js';
import { Database } from '#database/database.js';
import { EgressConfig } from '#egress/egress.config.js';
import { CatalogueConfig } from '#catalogue/catalogue.config.js';
import { CatalogueModule } from '#catalogue/catalogue.module.js';
import { CatalogueSource } from '#catalogue/catalogue-source.js';
import { PublicFetcher } from '#egress/fetch-public-url.js';
import { PublicPoster } from '#egress/post-public-url.js';
import { MAX_PICTURE_BYTES } from '#images/limits.js';
import { OpenAiConfig } from '#providers/openai/openai.config.js';
import { adapterProblems, loadAdapters } from '#providers/make-provider.js';
import { ProviderRegistry } from '#providers/registry.js';
import { SandboxConfig } from '#providers/sandbox/sandbox.config.js';
import { ImageQueue } from '#queue/image-queue.js';
import { QueueConfig } from '#queue/queue.config.js';
import { ServiceTimes } from '#queue/service-times.js';
import { patientConnection } from '#queue/connections.js';
import { JOBS_REDIS, JobsModule } from '#queue/jobs.module.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { ProviderGate } from '#routing/provider-gate.js';
import { RoutingConfig } from '#routing/routing.config.js';
import { RoutingModule } from '#routing/routing.module.js';
import type { ObjectStore } from '#storage/object-store.js';
import { ResultLinks } from '#storage/result-links.js';
import { LinkSigner } from '#storage/signed-link.js';
import { StorageConfig } from '#storage/storage.config.js';
import { OBJECT_STORE, StorageModule } from '#storage/storage.module.js';
import { TaskBell, TaskBellListener } from '#tasks/task-events.js';
import { TaskEstimates } from '#tasks/task-estimates.js';
import { TaskMoves } from '#tasks/task-moves.js';
import { TaskPartials } from '#tasks/task-partials.js';
import { TaskSlots } from '#tasks/task-slots.js';
import { TaskStore } from '#tasks/task-store.js';
import { TasksConfig } from '#tasks/tasks.config.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { Logger } from '#telemetry/logger.js';
import { MetricsConfig } from '#telemetry/metrics.config.js';
import { Metrics } from '#telemetry/metrics.js';
import { TelemetryConfig } from '#telemetry/telemetry.config.js';
import { TelemetryModule } from '#telemetry/telemetry.module.js';
import { DeliveryMoves } from '#webhooks/delivery-moves.js';
import { WebhookSecretStore, WEBHOOK_SECRETS } from '#webhooks/secret-store.js';
import { SendDeliveries } from '#webhooks/send-deliveries.js';
import { WebhooksConfig } from '#webhooks/webhooks.config.js';
import { CallProvider } from './call-provider.js';
import { CollectOrphans } from './collect-orphans.js';
import { DeliverWebhook } from './deliver-webhook.js';
import { ExpireChatUsage } from './expire-chat-usage.js';
import { ExpireKeys } from './expire-keys.js';
import { ExpireObjects } from './expire-objects.js';
import { ExpireSignIns } from './expire-sign-ins.js';
import { ExpireUploads } from './expire-uploads.js';
import { ExpireWebhooks } from './expire-webhooks.js';
import { Holds } from './hold.js';
import { ImageProcessor } from './image.processor.js';
import { KeepThumbnail } from './keep-thumbnail.js';
import { LoadInputs } from './load-inputs.js';
import { OrderPicture } from './order-picture.js';
import { Retention } from './retention.js';
import { RunImageTask } from './run-image-task.js';
import { ServiceReport } from './service-report.js';
import { TaskKeeper } from './task-keeper.js';
import { TaskMeter } from './task-meter.js';
import { WebhookMessages } from './webhook-message.js';
import { WebhookProcessor } from './webhook.processor.js';
import { WorkerConfig } from './worker.config.js';

export const WORKER_CONFIGS = [
  TelemetryConfig,
  MetricsConfig,
  DatabaseConfig,
  QueueConfig,
  TasksConfig,
  StorageConfig,
  EgressConfig,
  CatalogueConfig,
  SandboxConfig,
  OpenAiConfig,
  RoutingConfig,
  SecretsConfig,
  WebhooksConfig,
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
    provide: ServiceReport,
    inject: [ServiceTimes, Database, WorkerConfig, Holds, Logger],
    useFactory: (
      times: ServiceTimes,
      database: Database,
      { concurrency }: WorkerConfig,
      holds: Holds,
      logger: Logger,
    ) => new ServiceReport(times, database, { owner: randomUUID(), concurrency, running: () => holds.size }, logger),
  },
  {
    provide: TaskMeter,
    inject: [Metrics, ServiceReport],
    useFactory: (metrics: Metrics, report: ServiceReport) => new TaskMeter(metrics, report),
  },
  {
    provide: TaskKeeper,
    inject: [TaskMoves, Holds, TaskBell, ImageQueue, TaskSlots, TaskMeter, SendDeliveries, TasksConfig, Logger],
    useFactory: (
      moves: TaskMoves,
      holds: Holds,
      bell: TaskBell,
      queue: ImageQueue,
      slots: TaskSlots,
      meter: TaskMeter,
      deliveries: SendDeliveries,
      config: TasksConfig,
      logger: Logger,
    ) => new TaskKeeper(moves, holds, { bell, queue, slots, meter, deliveries }, config, logger),
  },
  {
    provide: CallProvider,
    inject: [TaskKeeper, ProviderRegistry, ProviderGate, TaskPartials],
    useFactory: (...parts: ConstructorParameters<typeof CallProvider>) => new CallProvider(...parts),
  },
  {
    provide: OrderPicture,
    inject: [TaskKeeper, ProviderRegistry, CallProvider, LoadInputs],
    useFactory: (...parts: ConstructorParameters<typeof OrderPicture>) => new OrderPicture(...parts),
  },
  {
    provide: KeepThumbnail,
    inject: [TaskMoves, OBJECT_STORE, Holds, Logger],
    useFactory: (...parts: ConstructorParameters<typeof KeepThumbnail>) => new KeepThumbnail(...parts),
  },
  {
    provide: RunImageTask,
    inject: [TaskKeeper, OrderPicture, OBJECT_STORE, KeepThumbnail, WorkerConfig],
    useFactory: (
      keeper: TaskKeeper,
      orders: OrderPicture,
      store: ObjectStore,
      thumbnails: KeepThumbnail,
      config: WorkerConfig,
    ) => new RunImageTask(keeper, orders, store, config.thumbnails ? thumbnails : undefined),
  },
  {
    provide: Retention,
    inject: [Database, OBJECT_STORE, WorkerConfig, TasksConfig, Logger],
    useFactory: (database: Database, store: ObjectStore, config: WorkerConfig, tasks: TasksConfig, logger: Logger) =>
      new Retention(
        new ExpireObjects(database, store, config, logger),
        new CollectOrphans(database, store, logger),
        {
          chatUsage: new ExpireChatUsage(database, config, logger),
          keys: new ExpireKeys(database, logger),
          signIns: new ExpireSignIns(database, logger),
          uploads: new ExpireUploads(database, store, tasks, logger),
          webhooks: new ExpireWebhooks(database, config, logger),
        },
        logger,
      ),
  },
  {
    provide: WebhookMessages,
    inject: [TaskStore, TaskEstimates, Database, StorageConfig, SecretsConfig, WorkerConfig],
    useFactory: (
      tasks: TaskStore,
      estimates: TaskEstimates,
      database: Database,
      storage: StorageConfig,
      secrets: SecretsConfig,
      config: WorkerConfig,
    ) => {
      const { secretKey, secretKeyPrevious: previousSecretKey } = secrets;
      const signer = new LinkSigner({ secretKey, previousSecretKey }, config.publicUrl);
      const store = new WebhookSecretStore(database.pool, new TextSealer(secrets, WEBHOOK_SECRETS));
      return new WebhookMessages(tasks, new TaskLinks(new ResultLinks(storage, signer), estimates), store);
    },
  },
  {
    provide: DeliverWebhook,
    inject: [DeliveryMoves, SendDeliveries, WebhookMessages, EgressConfig, WebhooksConfig, Logger],
    useFactory: (
      moves: DeliveryMoves,
      send: SendDeliveries,
      messages: WebhookMessages,
      egress: EgressConfig,
      config: WebhooksConfig,
      logger: Logger,
    ) => new DeliverWebhook({ moves, send }, messages, new PublicPoster(egress), config, logger),
  },
  ImageProcessor,
  WebhookProcessor,
];

/** Jobs only: no HTTP but an orchestrator's probes. */
@Module({})
export class WorkerModule implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  constructor(
    private readonly bell: TaskBellListener,
    private readonly report: ServiceReport,
    private readonly holds: Holds,
    private readonly config: WorkerConfig,
    private readonly metrics: Metrics,
  ) {}

  /** `registry` says who makes the pictures; absent, the catalogue does. Throws ConfigError when settings are wrong. */
  static forRoot(env: Readonly<Record<string, string | undefined>>, registry?: ProviderRegistry): DynamicModule {
    return {
      module: WorkerModule,
      imports: [
        ConfigModule.forRoot(WORKER_CONFIGS, env),
        TelemetryModule.forRoot('worker'),
        CatalogueModule.forRoot(env),
        TasksModule,
        RoutingModule,
        StorageModule,
        BullModule.forRootAsync({
          imports: [JobsModule],
          inject: [JOBS_REDIS, QueueConfig],
          useFactory: (connection: Redis, config: QueueConfig) => ({ connection, prefix: config.redisPrefix }),
        }),
        BullModule.registerQueue(),
      ],
      providers: [
        {
          provide: ProviderRegistry,
          inject: [CatalogueSource, SandboxConfig, OpenAiConfig, EgressConfig],
          useFactory: (...parts: Parameters<typeof registryOf>) => registry ?? registryOf(...parts),
        },
        ...providers,
      ],
    };
  }

  onApplicationBootstrap(): void {
    this.metrics.gauge('worker_slots', 'Tasks this worker has in hand at most.', () => this.config.concurrency);
    this.metrics.gauge('worker_tasks', 'Tasks this worker has in hand.', () => this.holds.size);
    this.report.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.report.stop();
  }

  onApplicationShutdown(): void {
    this.bell.close();
  }
}

/** The adapters of the catalogue; one that holds an entry of which none can be made is refused. */
async function registryOf(
  source: CatalogueSource,
  sandbox: SandboxConfig,
  openai: OpenAiConfig,
  egress: EgressConfig,
): Promise<ProviderRegistry> {
  const fetcher = new PublicFetcher({ ...egress, maxBytes: MAX_PICTURE_BYTES });
  const make = await loadAdapters({ sandbox, openai, fetcher });
  source.check((catalogue) => adapterProblems(catalogue, make));
  return new ProviderRegistry(source, make);
}
