import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { AccountStore } from './account-store.js';
import { ApiKeyRepository } from './api-key.repository.js';
import { AuditLog } from './audit-log.js';
import { ClientTokens } from './client-tokens.js';
import { EndUserSecrets } from './end-user-secrets.js';
import { FindKey } from './find-key.js';
import { PasswordHashLimiter } from './password-hash-limiter.js';
import { LinkStore } from './link-store.js';
import { NewKeyRepository } from './new-key.repository.js';
import { OpenIdPeople } from './openid-people.js';
import { PasskeyStore } from './passkey-store.js';
import { Passwords } from './passwords.js';
import { PersonStore } from './person-store.js';
import { RefusedCallsRepository } from './refused-calls.repository.js';
import { SECOND_FACTORS, SecondFactorStore } from './second-factor-store.js';
import { SavedViews } from './saved-views.js';
import { SessionStore } from './session-store.js';
import { TaskRights } from './task-rights.js';

const parts = [
  AccountStore,
  ApiKeyRepository,
  NewKeyRepository,
  ClientTokens,
  FindKey,
  EndUserSecrets,
  TaskRights,
  PersonStore,
  SavedViews,
  SessionStore,
  LinkStore,
  OpenIdPeople,
  PasskeyStore,
  SecondFactorStore,
  AuditLog,
  RefusedCallsRepository,
];

const sealer = {
  provide: TextSealer,
  inject: [SecretsConfig],
  useFactory: (secrets: SecretsConfig) => new TextSealer(secrets, SECOND_FACTORS),
};

/** Accounts, their keys and people, and the audit log. */
@Module({
  imports: [DatabaseModule],
  providers: [...parts, PasswordHashLimiter, Passwords, sealer],
  exports: [...parts, Passwords],
})
export class AccountsModule {}
