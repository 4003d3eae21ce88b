import { Injectable, type OnModuleInit } from '@nestjs/common';
import { CatalogSource } from '#catalog/catalog-source.js';
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
    const names = (): string[] => [...this.catalog.current.providers.keys()];
    this.metrics.gauges(
      'provider_calls',
      'Provider calls in progress on this process; includes chats only for providers with limits.',
      'provider',
      () => {
        const counts = this.limiter.inHand();
        return Promise.resolve(Object.fromEntries(names().map((name) => [name, counts.get(name) ?? 0])));
      },
    );
    this.metrics.gauges(
      'provider_breaker',
      'State of each provider’s circuit breaker: 0 closed, 1 half open, 2 open; the same on every worker.',
      'provider',
      async () => {
        const states = await this.state.statesOf(names());
        return Object.fromEntries(
          names().map((name, index) => [name, BREAKER_VALUES[states[index]?.breaker ?? 'closed']]),
        );
      },
    );
  }
}
