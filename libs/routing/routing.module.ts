import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { QueueModule } from '#queue/queue.module.js';
import { CallCounter } from './call-counter.js';
import { CallHistory } from './call-history.js';
import { DrainedProviders, ProviderSwitches } from './provider-switches.js';
import { LimiterGauges } from './limiter-gauges.js';
import { LimiterState } from './limiter-state.js';
import { ProviderLimiter } from './provider-limiter.js';
import { ProviderWaits } from './provider-waits.js';
import { SharedLimiter } from './shared-limiter.js';
import { StoredResponses } from './stored-responses.js';

/** Decides which provider calls may begin, and counts how they ended, for all processes together. Needs the CatalogModule and RoutingConfig. */
@Module({
  imports: [DatabaseModule, QueueModule],
  providers: [
    LimiterState,
    SharedLimiter,
    ProviderSwitches,
    DrainedProviders,
    ProviderLimiter,
    LimiterGauges,
    ProviderWaits,
    CallHistory,
    CallCounter,
    StoredResponses,
  ],
  exports: [
    ProviderLimiter,
    ProviderWaits,
    LimiterState,
    CallHistory,
    CallCounter,
    DrainedProviders,
    ProviderSwitches,
    StoredResponses,
  ],
})
export class RoutingModule {}
