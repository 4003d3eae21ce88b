import { Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { CatalogueSource } from '#catalogue/catalogue-source.js';
import { Database } from '#database/database.js';
import { DatabaseModule } from '#database/database.module.js';
import { QueueConfig } from '#queue/queue.config.js';
import { QueueHealth } from '#queue/queue-health.js';
import { PRODUCER_REDIS, QueueModule } from '#queue/queue.module.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { DrainedProviders } from './drained-providers.js';
import { watchGate } from './gate-gauges.js';
import { GateState } from './gate-state.js';
import { ProviderGate } from './provider-gate.js';
import { RoutingConfig } from './routing.config.js';

const providers = [
  {
    provide: GateState,
    inject: [PRODUCER_REDIS, QueueConfig, RoutingConfig],
    useFactory: (redis: Redis, queue: QueueConfig, config: RoutingConfig) =>
      new GateState(redis, queue.redisPrefix, config),
  },
  {
    provide: DrainedProviders,
    inject: [Database, RoutingConfig, Logger],
    useFactory: (database: Database, config: RoutingConfig, logger: Logger) =>
      new DrainedProviders(database.pool, config, logger),
  },
  {
    provide: ProviderGate,
    inject: [GateState, DrainedProviders, QueueHealth, RoutingConfig, Metrics, Logger],
    useFactory: (
      state: GateState,
      drained: DrainedProviders,
      health: QueueHealth,
      config: RoutingConfig,
      metrics: Metrics,
      logger: Logger,
    ) => new ProviderGate({ state, drained, health }, config.slotLeaseMs, metrics, logger),
  },
  { provide: 'GATE_GAUGES', inject: [Metrics, ProviderGate, GateState, CatalogueSource], useFactory: watchGate },
];

/** Which calls to providers may begin, at all processes together. Needs the CatalogueModule and RoutingConfig. */
@Module({ imports: [DatabaseModule, QueueModule], providers, exports: [ProviderGate, GateState, DrainedProviders] })
export class RoutingModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly drained: DrainedProviders,
    private readonly gate: ProviderGate,
  ) {}

  /** No call is begun before it is known which providers are drained. */
  async onApplicationBootstrap(): Promise<void> {
    await this.drained.start();
  }

  async onApplicationShutdown(): Promise<void> {
    this.drained.close();
    await this.gate.close();
  }
}
