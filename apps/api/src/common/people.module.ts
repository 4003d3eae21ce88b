import { Module } from '@nestjs/common';
import { Database } from '#database/database.js';
import { DatabaseModule } from '#database/database.module.js';
import { AccountStore } from '#accounts/account-store.js';
import { AuditLog } from '#accounts/audit-log.js';
import { LinkStore } from '#accounts/link-store.js';
import { OpenIdPeople } from '#accounts/openid-people.js';
import { Passwords } from '#accounts/passwords.js';
import { PersonStore } from '#accounts/person-store.js';
import { SessionStore } from '#accounts/session-store.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { ApiConfig, publicUrlOf } from './api.config.js';

const providers = [
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
  {
    provide: LinkStore,
    inject: [Database, SecretsConfig, ApiConfig],
    useFactory: ({ pool }: Database, { secretKey }: SecretsConfig, config: ApiConfig) =>
      new LinkStore(pool, secretKey, publicUrlOf(config)),
  },
  { provide: Passwords, useFactory: () => new Passwords() },
  { provide: OpenIdPeople, inject: [Database], useFactory: ({ pool }: Database) => new OpenIdPeople(pool) },
  { provide: AccountStore, inject: [Database], useFactory: ({ pool }: Database) => new AccountStore(pool) },
  { provide: AuditLog, inject: [Database], useFactory: ({ pool }: Database) => new AuditLog(pool) },
];

/** The rows of accounts, of their people, and of what these did. */
@Module({ imports: [DatabaseModule], providers, exports: providers })
export class PeopleModule {}
