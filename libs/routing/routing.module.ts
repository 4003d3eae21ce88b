import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { QueueModule } from '#queue/queue.module.js';
import { DrainedProviders } from './drained-providers.js';
import { GateGauges } from './gate-gauges.js';
import { GateState } from './gate-state.js';
import { GATE } from './gate.js';
import { ProviderGate } from './provider-gate.js';
import { ProviderSwitches } from './provider-switches.js';
import { SharedGate } from './shared-gate.js';

/** Which calls to providers may begin, at all processes together. Needs the CatalogueModule and RoutingConfig. */
@Module({
  imports: [DatabaseModule, QueueModule],
  providers: [
    GateState,
    SharedGate,
    ProviderSwitches,
    DrainedProviders,
    ProviderGate,
    { provide: GATE, useExisting: ProviderGate },
    GateGauges,
  ],
  exports: [ProviderGate, GATE, GateState, DrainedProviders, ProviderSwitches],
})
export class RoutingModule {}
