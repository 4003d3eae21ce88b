import type { CatalogueSource } from '#catalogue/catalogue-source.js';
import type { Metrics } from '#telemetry/metrics.js';
import type { GateState } from './gate-state.js';
import type { ProviderGate } from './provider-gate.js';

const BREAKER_VALUES = { closed: 0, 'half-open': 1, open: 2 } as const;

/** What a worker can tell of the providers, read at each scrape. */
export function watchGate(metrics: Metrics, gate: ProviderGate, state: GateState, catalogue: CatalogueSource): void {
  const names = (): string[] => [...catalogue.current.providers.keys()];
  metrics.gauges(
    'provider_calls',
    'Calls to providers that this process has in hand; chats only where there are limits.',
    'provider',
    () => {
      const counts = gate.inHand();
      return Promise.resolve(Object.fromEntries(names().map((name) => [name, counts.get(name) ?? 0])));
    },
  );
  metrics.gauges(
    'provider_breaker',
    'Breakers of providers: 0 closed, 1 half open, 2 open; the same at every worker.',
    'provider',
    async () => {
      const states = await state.look(names());
      return Object.fromEntries(
        names().map((name, index) => [name, BREAKER_VALUES[states[index]?.breaker ?? 'closed']]),
      );
    },
  );
}
