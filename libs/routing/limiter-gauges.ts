import { Injectable, type OnModuleInit } from '@nestjs/common';
import { CatalogSource } from '#catalog/catalog-source.js';
import { serverId, serverLabels, type ProviderEntry } from '#providers/provider-entry.js';
import { Metrics } from '#telemetry/metrics.js';
import { LimiterState } from './limiter-state.js';
import { ProviderLimiter } from './provider-limiter.js';

const BREAKER_VALUES = { closed: 0, 'half-open': 1, open: 2 } as const;

/** Metrics of the providers, read at each scrape. */
@Injectable()
export class LimiterGauges implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly limiter: ProviderLimiter,
    private readonly state: LimiterState,
    private readonly catalog: CatalogSource,
  ) {}

  onModuleInit(): void {
    const servers = (): ProviderEntry[] => [...this.catalog.current.providers.values()].flatMap((one) => one.servers);
    this.metrics.serverGauges(
      'provider_calls',
      'Provider calls in progress on this process; includes chats only for providers with limits.',
      () => {
        const counts = this.limiter.inHand();
        return Promise.resolve(servers().map((server) => [serverLabels(server), counts.get(serverId(server)) ?? 0]));
      },
    );
    this.metrics.serverGauges(
      'provider_breaker',
      'State of each server’s circuit breaker: 0 closed, 1 half open, 2 open; the same on every worker.',
      async () => {
        const all = servers();
        const states = await this.state.statesOf(all.map(serverId));
        return all.map((server, at) => [serverLabels(server), BREAKER_VALUES[states[at]?.breaker ?? 'closed']]);
      },
    );
  }
}
