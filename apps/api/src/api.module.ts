import {
  Inject,
  Module,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, HttpAdapterHost } from '@nestjs/core';
import type { Redis } from 'ioredis';
import type { Server } from 'node:http';
import { CatalogueConfig } from '#catalogue/catalogue.config.js';
import { CatalogueModule } from '#catalogue/catalogue.module.js';
import { ConfigModule } from '#config/config.module.js';
import { DatabaseConfig } from '#database/database.config.js';
import { Database } from '#database/database.js';
import { EgressConfig } from '#egress/egress.config.js';
import { SandboxConfig } from '#providers/sandbox/sandbox.config.js';
import { patientConnection } from '#queue/connections.js';
import { QueueConfig } from '#queue/queue.config.js';
import { QueueHealth } from '#queue/queue-health.js';
import { PRODUCER_REDIS } from '#queue/queue.module.js';
import { RoutingConfig } from '#routing/routing.config.js';
import { RoutingModule } from '#routing/routing.module.js';
import { ResultLinks } from '#storage/result-links.js';
import { LinkSigner } from '#storage/signed-link.js';
import { StorageConfig } from '#storage/storage.config.js';
import { OBJECT_STORE, StorageModule } from '#storage/storage.module.js';
import { TaskBellListener } from '#tasks/task-events.js';
import { TaskEstimates } from '#tasks/task-estimates.js';
import { TaskPartialsListener } from '#tasks/task-partials.js';
import { TaskStore } from '#tasks/task-store.js';
import { TasksConfig } from '#tasks/tasks.config.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { Logger } from '#telemetry/logger.js';
import { MetricsConfig } from '#telemetry/metrics.config.js';
import { Metrics } from '#telemetry/metrics.js';
import { TelemetryConfig } from '#telemetry/telemetry.config.js';
import { TelemetryModule } from '#telemetry/telemetry.module.js';
import { WebhooksConfig } from '#webhooks/webhooks.config.js';
import { ApiKeyGuard } from './auth/api-key.guard.js';
import { ApiKeyStore } from './auth/api-key-store.js';
import { KeyUses } from './auth/key-uses.js';
import { laneLimits, StrangerLane } from './auth/stranger-lane.js';
import { AccountsConfig } from '#people/accounts.config.js';
import { SignInConfig } from '#people/sign-in.config.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { CHAT_PARTS, OPENAI_CHAT } from './chat/chat-parts.js';
import { ChatController } from './chat/chat.controller.js';
import { ChatConfig } from './chat/chat.config.js';
import { ChatUsageLog } from './chat/chat-usage-log.js';
import { CONSOLE_CONTROLLERS, CONSOLE_PARTS } from './console/console-parts.js';
import { FilesController } from './files/files.controller.js';
import { HealthController } from './health/health.controller.js';
import { Readiness } from './health/readiness.js';
import { ApiConfig, bodyMemoryOf, publicUrlOf } from './http/api.config.js';
import { BodyMemory } from './http/body-memory.js';
import { Draining } from './http/draining.js';
import { ErrorFilter } from './http/error.filter.js';
import { KnownRoutes } from './http/known-routes.js';
import { AcceptImage } from './images/accept-image.js';
import { AnswerImage } from './images/answer-image.js';
import { CheckImage } from './images/check-image.js';
import { DeliveryMarks } from './images/delivery-marks.js';
import { HeldCalls } from './images/held-calls.js';
import { ImagesController } from './images/images.controller.js';
import { QuoteImage } from './images/quote-image.js';
import { ReferenceImages } from './images/reference-images.js';
import { RequestRules } from './images/request-rules.js';
import { StreamImage } from './images/stream-image.js';
import { WaitForTask } from './images/wait-for-task.js';
import { RequestLimits } from './limits/limit-requests.js';
import { LimitsConfig } from './limits/limits.config.js';
import { RateCounter } from './limits/rate-counter.js';
import { ModelsController } from './models/models.controller.js';
import { CancelOwnTask } from './tasks/cancel-own-task.js';
import { FollowTask } from './tasks/follow-task.js';
import { TaskLinks } from '#answers/task-links.js';
import { TaskWatchers } from './tasks/task-watchers.js';
import { TasksController } from './tasks/tasks.controller.js';
import { KeepImage } from './uploads/keep-image.js';
import { UploadStore } from './uploads/upload-store.js';
import { UploadsConfig } from './uploads/uploads.config.js';
import { UploadsController } from './uploads/uploads.controller.js';

export const API_CONFIGS = [
  TelemetryConfig,
  MetricsConfig,
  DatabaseConfig,
  QueueConfig,
  TasksConfig,
  StorageConfig,
  EgressConfig,
  SecretsConfig,
  SignInConfig,
  AccountsConfig,
  ApiConfig,
  LimitsConfig,
  UploadsConfig,
  WebhooksConfig,
  CatalogueConfig,
  RoutingConfig,
  SandboxConfig,
  ChatConfig,
] as const;

/** The one connection of a process that is subscribed: it can do nothing else. */
const TO_CLOSE = Symbol('TO_CLOSE');
const LISTENING_REDIS = Symbol('LISTENING_REDIS');

const providers = [
  { provide: APP_FILTER, useClass: ErrorFilter },
  { provide: APP_GUARD, useClass: ApiKeyGuard },
  KnownRoutes,
  ReferenceImages,
  CheckImage,
  AcceptImage,
  QuoteImage,
  RequestRules,
  AnswerImage,
  KeepImage,
  TaskLinks,
  FollowTask,
  CancelOwnTask,
  Readiness,
  ...CHAT_PARTS,
  ...CONSOLE_PARTS,
  { provide: BodyMemory, inject: [ApiConfig], useFactory: (config: ApiConfig) => new BodyMemory(bodyMemoryOf(config)) },
  { provide: Draining, inject: [ApiConfig], useFactory: (config: ApiConfig) => new Draining(config) },
  {
    provide: KeyUses,
    inject: [Database, Logger],
    useFactory: ({ pool }: Database, logger: Logger) => new KeyUses(pool, logger),
  },
  {
    provide: ApiKeyStore,
    inject: [Database, SecretsConfig, KeyUses, ApiConfig],
    useFactory: (database: Database, secrets: SecretsConfig, uses: KeyUses, config: ApiConfig) =>
      new ApiKeyStore(database, secrets, uses, new StrangerLane(laneLimits(config))),
  },
  {
    provide: UploadStore,
    inject: [Database, UploadsConfig],
    useFactory: (database: Database, config: UploadsConfig) => new UploadStore(database, config.bytesPerAccount),
  },
  {
    provide: LISTENING_REDIS,
    inject: [QueueConfig, Logger],
    useFactory: (config: QueueConfig, logger: Logger) => patientConnection(config, 'bell', logger),
  },
  {
    provide: TaskBellListener,
    inject: [LISTENING_REDIS, QueueConfig],
    useFactory: (redis: Redis, config: QueueConfig) => new TaskBellListener(redis, config),
  },
  {
    provide: TaskPartialsListener,
    inject: [LISTENING_REDIS, QueueConfig],
    useFactory: (redis: Redis, config: QueueConfig) => new TaskPartialsListener(redis, config),
  },
  {
    provide: HeldCalls,
    inject: [WaitForTask, Draining],
    useFactory: (...parts: ConstructorParameters<typeof HeldCalls>) => new HeldCalls(...parts),
  },
  {
    provide: StreamImage,
    inject: [HeldCalls, TaskPartialsListener, OBJECT_STORE, DeliveryMarks, ApiConfig],
    useFactory: (...parts: ConstructorParameters<typeof StreamImage>) => new StreamImage(...parts),
  },
  {
    provide: RequestLimits,
    inject: [PRODUCER_REDIS, QueueConfig, QueueHealth, LimitsConfig],
    useFactory: (redis: Redis, queue: QueueConfig, health: QueueHealth, config: LimitsConfig) =>
      new RequestLimits(new RateCounter(redis, queue.redisPrefix), health, config),
  },
  {
    provide: DeliveryMarks,
    inject: [Database, Logger],
    useFactory: (database: Database, logger: Logger) => new DeliveryMarks(database, logger),
  },
  {
    provide: WaitForTask,
    inject: [Metrics, TaskStore, TaskBellListener, Logger],
    useFactory: (metrics: Metrics, ...parts: ConstructorParameters<typeof WaitForTask>) => {
      const wait = new WaitForTask(...parts);
      metrics.gauge('held_tasks', 'Tasks whose sync callers this process holds.', () => wait.size);
      return wait;
    },
  },
  {
    provide: TaskWatchers,
    inject: [Metrics, TaskStore, TaskBellListener, Logger],
    useFactory: (metrics: Metrics, ...parts: ConstructorParameters<typeof TaskWatchers>) => {
      const watchers = new TaskWatchers(...parts);
      metrics.gauge('followed_tasks', 'Tasks that long polls and event streams follow at this process.', () => {
        return watchers.size;
      });
      return watchers;
    },
  },
  {
    provide: LinkSigner,
    inject: [SecretsConfig, ApiConfig],
    useFactory: (secrets: SecretsConfig, config: ApiConfig) =>
      new LinkSigner(
        { secretKey: secrets.secretKey, previousSecretKey: secrets.secretKeyPrevious },
        publicUrlOf(config),
      ),
  },
  {
    provide: ResultLinks,
    inject: [StorageConfig, LinkSigner],
    useFactory: (config: StorageConfig, signer: LinkSigner) => new ResultLinks(config, signer),
  },
  {
    provide: TO_CLOSE,
    inject: [
      ...[WaitForTask, TaskWatchers, TaskEstimates, TaskBellListener, DeliveryMarks, KeyUses, ChatUsageLog],
      OPENAI_CHAT,
    ],
    useFactory: (...parts: Closable[]) => parts,
  },
];

/** What stops when the process does, in this order. */
interface Closable {
  close(): void | Promise<void>;
}

/** HTTP only: takes requests, writes tasks, waits for them. Draws nothing, and calls providers of chat alone. */
@Module({})
export class ApiModule implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly draining: Draining,
    @Inject(TO_CLOSE) private readonly toClose: readonly Closable[],
    private readonly estimates: TaskEstimates,
  ) {}

  /** Throws ConfigError when settings are missing or wrong. */
  static forRoot(env: Readonly<Record<string, string | undefined>>): DynamicModule {
    return {
      module: ApiModule,
      imports: [
        ConfigModule.forRoot(API_CONFIGS, env),
        TelemetryModule.forRoot('api'),
        CatalogueModule.forRoot(env),
        RoutingModule,
        TasksModule,
        StorageModule,
      ],
      controllers: [
        ImagesController,
        TasksController,
        ChatController,
        ModelsController,
        FilesController,
        UploadsController,
        HealthController,
        ...CONSOLE_CONTROLLERS,
      ],
      providers,
    };
  }

  onApplicationBootstrap(): void {
    this.estimates.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.draining.start(this.host.httpAdapter.getHttpServer() as Server);
  }

  async onApplicationShutdown(): Promise<void> {
    this.draining.stop();
    for (const part of this.toClose) await part.close();
  }
}
