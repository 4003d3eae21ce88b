import type { Redis } from 'ioredis';
import { Database } from '#database/database.js';
import { AccountStore } from '#people/account-store.js';
import { AuditLog } from '#people/audit-log.js';
import { LinkStore } from '#people/link-store.js';
import { OpenIdPeople } from '#people/openid-people.js';
import { Passwords } from '#people/passwords.js';
import { PersonStore } from '#people/person-store.js';
import { SessionStore } from '#people/session-store.js';
import { QueueConfig } from '#queue/queue.config.js';
import { PRODUCER_REDIS } from '#queue/queue.module.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { ApiConfig, publicUrlOf } from '../http/api.config.js';
import { RateCounter } from '../limits/rate-counter.js';
import { AccountKeys } from './keys/account-keys.js';
import { AccountTasks } from './tasks/account-tasks.js';
import { AccountWebhooks } from './webhooks/account-webhooks.js';
import { AccountDefaults } from './team/account-defaults.js';
import { AccountsController } from './team/accounts.controller.js';
import { Accounts } from './team/accounts.js';
import { AuditTargets } from './audit/audit-targets.js';
import { AuditController } from './audit/audit.controller.js';
import { BegunCookie } from './sign-in/begun-cookie.js';
import { ConsoleCaller } from './tasks/console-caller.js';
import { DrawAgain } from './tasks/draw-again.js';
import { FailedSignIns } from './sign-in/failed-sign-ins.js';
import { FailuresController } from './operation/failures.controller.js';
import { Following } from './tasks/following.js';
import { Invitations } from './team/invitations.js';
import { KeysController } from './keys/keys.controller.js';
import { OpenIdSignIn } from './sign-in/openid-sign-in.js';
import { OpenIdController } from './sign-in/openid.controller.js';
import { OpenSession } from './sign-in/open-session.js';
import { OperationController } from './operation/operation.controller.js';
import { Operation } from './operation/operation.js';
import { OwnTasks } from './tasks/own-tasks.js';
import { OwnAccountController } from './team/own-account.controller.js';
import { PasswordSignIn } from './sign-in/password-sign-in.js';
import { PersonController } from './sign-in/person.controller.js';
import { PlaygroundController } from './tasks/playground.controller.js';
import { ProviderTest } from './operation/provider-test.js';
import { Redrive } from './operation/redrive.js';
import { RolesGuard } from './roles.guard.js';
import { SessionGuard } from './session.guard.js';
import { SessionsController } from './sign-in/sessions.controller.js';
import { SIGN_IN_WINDOW_SECONDS, SignInLimits } from './sign-in/sign-in-limits.js';
import { SignInController } from './sign-in/sign-in.controller.js';
import { ConsoleTasksController } from './tasks/tasks.controller.js';
import { TeamController } from './team/team.controller.js';
import { UsageController } from './usage/usage.controller.js';
import { WaysInController } from './sign-in/ways-in.controller.js';
import { WebhooksController } from './webhooks/webhooks.controller.js';

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
  AccountDefaults,
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
  PasswordSignIn,
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
    useFactory: ({ pool }: Database, secrets: SecretsConfig) => new PersonStore(pool, secrets),
  },
  {
    provide: SessionStore,
    inject: [Database, SecretsConfig],
    useFactory: ({ pool }: Database, secrets: SecretsConfig) => new SessionStore(pool, secrets),
  },
  { provide: Passwords, useFactory: () => new Passwords() },
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
