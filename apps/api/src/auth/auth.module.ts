import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AccountsModule } from '#accounts/accounts.module.js';
import { BillingModule } from '#billing/billing.module.js';
import { ApiConfig } from '../common/api.config.js';
import { ApiKeyGuard } from './api-key.guard.js';
import { ApiKeyCache } from './api-key-cache.js';
import { LimitedKeys } from './limited-keys.js';
import { LineCallers } from './line-callers.js';
import { KeyUses } from './key-uses.js';
import { RefusedCalls } from './refused-calls.js';
import { firstLookUpLimits, FirstLookUpLimiter } from './first-look-up-limiter.js';

const firstLookUps = {
  provide: FirstLookUpLimiter,
  inject: [ApiConfig],
  useFactory: (config: ApiConfig) => new FirstLookUpLimiter(firstLookUpLimits(config)),
};

/** Identifies the callers of the public API and their permissions. */
@Module({
  imports: [AccountsModule, BillingModule],
  providers: [
    { provide: APP_GUARD, useClass: ApiKeyGuard },
    ApiKeyCache,
    KeyUses,
    LimitedKeys,
    LineCallers,
    RefusedCalls,
    firstLookUps,
  ],
  exports: [ApiKeyCache, FirstLookUpLimiter, LimitedKeys, LineCallers],
})
export class AuthModule {}
