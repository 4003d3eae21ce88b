import type { Redis } from 'ioredis';
import { Database } from '#database/database.js';
import { AccountStore } from '#people/account-store.js';
import { AuditLog } from '#people/audit-log.js';
import { LinkStore } from '#people/link-store.js';
import { OpenIdPeople } from '#people/openid-people.js';
import { PersonStore } from '#people/person-store.js';
import { SessionStore } from '#people/session-store.js';
import { QueueConfig } from '#queue/queue.config.js';
import { PRODUCER_REDIS } from '#queue/queue.module.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { ApiConfig, publicUrlOf } from '../http/api.config.js';
import { RateCounter } from '../limits/rate-counter.js';
import { AccountKeys } from './account-keys.js';
import { AccountTasks } from './account-tasks.js';
import { AccountWebhooks } from './account-webhooks.js';
import { AccountsController } from './accounts.controller.js';
import { Accounts } from './accounts.js';
import { AuditTargets } from './audit-targets.js';
import { AuditController } from './audit.controller.js';
import { BegunCookie } from './begun-cookie.js';
import { ConsoleCaller } from './console-caller.js';
import { DrawAgain } from './draw-again.js';
import { FailedSignIns } from './failed-sign-ins.js';
import { FailuresController } from './failures.controller.js';
import { Following } from './following.js';
import { Invitations } from './invitations.js';
import { KeysController } from './keys.controller.js';
import { OpenIdSignIn } from './openid-sign-in.js';
import { OpenIdController } from './openid.controller.js';
import { OpenSession } from './open-session.js';
import { OperationController } from './operation.controller.js';
import { Operation } from './operation.js';
import { OwnTasks } from './own-tasks.js';
import { OwnAccountController } from './own-account.controller.js';
import { PersonController } from './person.controller.js';
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
import { WaysInController } from './ways-in.controller.js';
import { WebhooksController } from './webhooks.controller.js';

/** What the console's API is made of. */
export const CONSOLE_CONTROLLERS = [
  WaysInController,
  SignInController,
  OpenIdController,
  SessionsController,
  PersonController,
  KeysController,
  PlaygroundController,
  ConsoleTasksController,
  UsageController,
  OperationController,
  FailuresController,
  TeamController,
  AuditController,
  OwnAccountController,
  AccountsController,
  WebhooksController,
];

export const CONSOLE_PARTS = [
  SessionGuard,
  RolesGuard,
  OpenSession,
  OpenIdSignIn,
  BegunCookie,
  AccountKeys,
  AccountTasks,
  AccountWebhooks,
  Accounts,
  AuditTargets,
  ConsoleCaller,
  DrawAgain,
  FailedSignIns,
  Following,
  Invitations,
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
  { provide: OpenIdPeople, inject: [Database], useFactory: ({ pool }: Database) => new OpenIdPeople(pool) },
  {
    provide: LinkStore,
    inject: [Database, SecretsConfig, ApiConfig],
    useFactory: ({ pool }: Database, { secretKey }: SecretsConfig, config: ApiConfig) =>
      new LinkStore(pool, secretKey, publicUrlOf(config)),
  },
  { provide: AccountStore, inject: [Database], useFactory: ({ pool }: Database) => new AccountStore(pool) },
  { provide: AuditLog, inject: [Database], useFactory: ({ pool }: Database) => new AuditLog(pool) },
];
