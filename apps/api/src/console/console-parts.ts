import type { Redis } from 'ioredis';
import { Database } from '#database/database.js';
import { AuditLog } from '#people/audit-log.js';
import { PersonStore } from '#people/person-store.js';
import { SessionStore } from '#people/session-store.js';
import { QueueConfig } from '#queue/queue.config.js';
import { PRODUCER_REDIS } from '#queue/queue.module.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { RateCounter } from '../limits/rate-counter.js';
import { AccountKeys } from './account-keys.js';
import { AccountTasks } from './account-tasks.js';
import { AccountWebhooks } from './account-webhooks.js';
import { ConsoleCaller } from './console-caller.js';
import { DrawAgain } from './draw-again.js';
import { FailuresController } from './failures.controller.js';
import { Following } from './following.js';
import { KeysController } from './keys.controller.js';
import { OpenSession } from './open-session.js';
import { OperationController } from './operation.controller.js';
import { Operation } from './operation.js';
import { OwnTasks } from './own-tasks.js';
import { PlaygroundController } from './playground.controller.js';
import { ProviderTest } from './provider-test.js';
import { Redrive } from './redrive.js';
import { RolesGuard } from './roles.guard.js';
import { SessionGuard } from './session.guard.js';
import { SessionsController } from './sessions.controller.js';
import { SIGN_IN_WINDOW_SECONDS, SignInLimits } from './sign-in-limits.js';
import { SignInController } from './sign-in.controller.js';
import { ConsoleTasksController } from './tasks.controller.js';
import { TeamController } from './team.controller.js';
import { UsageController } from './usage.controller.js';
import { WebhooksController } from './webhooks.controller.js';

/** What the console's API is made of. */
export const CONSOLE_CONTROLLERS = [
  SignInController,
  SessionsController,
  KeysController,
  PlaygroundController,
  ConsoleTasksController,
  UsageController,
  OperationController,
  FailuresController,
  TeamController,
  WebhooksController,
];

export const CONSOLE_PARTS = [
  SessionGuard,
  RolesGuard,
  OpenSession,
  AccountKeys,
  AccountTasks,
  AccountWebhooks,
  ConsoleCaller,
  DrawAgain,
  Following,
  Operation,
  OwnTasks,
  ProviderTest,
  Redrive,
  {
    provide: SignInLimits,
    inject: [PRODUCER_REDIS, QueueConfig],
    useFactory: (redis: Redis, { redisPrefix }: QueueConfig) =>
      new SignInLimits(new RateCounter(redis, redisPrefix, SIGN_IN_WINDOW_SECONDS)),
  },
  {
    provide: PersonStore,
    inject: [Database, SecretsConfig],
    useFactory: ({ pool }: Database, { secretKey }: SecretsConfig) => new PersonStore(pool, secretKey),
  },
  {
    provide: SessionStore,
    inject: [Database, SecretsConfig],
    useFactory: ({ pool }: Database, { secretKey }: SecretsConfig) => new SessionStore(pool, secretKey),
  },
  { provide: AuditLog, inject: [Database], useFactory: ({ pool }: Database) => new AuditLog(pool) },
];
