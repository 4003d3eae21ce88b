import { Module } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
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
    inject: [PrismaService, SecretsConfig],
    useFactory: ({ pool }: PrismaService, secrets: SecretsConfig) => new PersonStore(pool, secrets),
  },
  {
    provide: SessionStore,
    inject: [PrismaService, SecretsConfig],
    useFactory: ({ pool }: PrismaService, secrets: SecretsConfig) => new SessionStore(pool, secrets),
  },
  {
    provide: LinkStore,
    inject: [PrismaService, SecretsConfig, ApiConfig],
    useFactory: ({ pool }: PrismaService, { secretKey }: SecretsConfig, config: ApiConfig) =>
      new LinkStore(pool, secretKey, publicUrlOf(config)),
  },
  { provide: Passwords, useFactory: () => new Passwords() },
  { provide: OpenIdPeople, inject: [PrismaService], useFactory: ({ pool }: PrismaService) => new OpenIdPeople(pool) },
  { provide: AccountStore, inject: [PrismaService], useFactory: ({ pool }: PrismaService) => new AccountStore(pool) },
  { provide: AuditLog, inject: [PrismaService], useFactory: ({ pool }: PrismaService) => new AuditLog(pool) },
];

/** The rows of accounts, of their people, and of what these did. */
@Module({ imports: [DatabaseModule], providers, exports: providers })
export class PeopleModule {}
