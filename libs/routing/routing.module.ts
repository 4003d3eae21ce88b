import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { QueueModule } from '#queue/queue.module.js';
import { DrainedProviders, ProviderSwitches } from './provider-switches.js';
import { LimiterGauges } from './limiter-gauges.js';
import { LimiterState } from './limiter-state.js';
import { ProviderLimiter } from './provider-limiter.js';
import { ProviderWaits } from './provider-waits.js';
import { SharedLimiter } from './shared-limiter.js';
import { StoredResponses } from './stored-responses.js';

/** Decides which provider calls may begin, for all processes together. Needs the CatalogModule and RoutingConfig. */
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
    StoredResponses,
  ],
  exports: [ProviderLimiter, ProviderWaits, LimiterState, DrainedProviders, ProviderSwitches, StoredResponses],
})
export class RoutingModule {}
