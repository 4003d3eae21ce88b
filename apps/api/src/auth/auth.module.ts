import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AccountsModule } from '#accounts/accounts.module.js';
import { BillingModule } from '#billing/billing.module.js';
import { ApiConfig } from '../common/api.config.js';
import { ApiKeyGuard } from './api-key.guard.js';
import { ApiKeyStore } from './api-key-store.js';
import { KeyUses } from './key-uses.js';
import { unknownKeyLimits, UnknownKeyLimiter } from './unknown-key-limiter.js';

const unknownKeys = {
  provide: UnknownKeyLimiter,
  inject: [ApiConfig],
  useFactory: (config: ApiConfig) => new UnknownKeyLimiter(unknownKeyLimits(config)),
};

/** Identifies the callers of the public API and their permissions. */
@Module({
  imports: [AccountsModule, BillingModule],
  providers: [{ provide: APP_GUARD, useClass: ApiKeyGuard }, ApiKeyStore, KeyUses, unknownKeys],
  exports: [UnknownKeyLimiter],
})
export class AuthModule {}
