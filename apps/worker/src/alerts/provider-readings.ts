import { Injectable } from '@nestjs/common';
import { CatalogSource } from '#catalog/catalog-source.js';
import { providerReading, type AlertReading } from '#notifications/alerts/alert-words.js';
import { serverId } from '#providers/provider-entry.js';
import { CallHistory, totalsOf, type CallCount } from '#routing/call-history.js';
import { LimiterState } from '#routing/limiter-state.js';
import { ProviderSwitches } from '#routing/provider-switches.js';
import { RoutingConfig } from '#routing/routing.config.js';

/** The minutes whose calls say whether a provider is down. */
const MINUTES = 10;

/** Whether providers are down, by their circuit breakers and their latest calls. */
@Injectable()
export class ProviderReadings {
  constructor(
    private readonly catalog: CatalogSource,
    private readonly limiter: LimiterState,
    private readonly history: CallHistory,
    private readonly switches: ProviderSwitches,
    private readonly config: RoutingConfig,
  ) {}

  /** One value for each server of providers that models use; skips drained ones. Rejects when Redis does not answer. */
  async read(): Promise<AlertReading[]> {
    const drained = new Set((await this.switches.list()).map(({ provider }) => provider));
    const used = [...this.modelsByProvider()].flatMap(([name, models]) => {
      const servers = drained.has(name) ? [] : (this.catalog.current.providers.get(name)?.servers ?? []);
      return servers.map((server) => [serverId(server), models] as const).filter(([id]) => !drained.has(id));
    });
    if (used.length === 0) return [];
    const [states, { minutes }] = await Promise.all([
      this.limiter.statesOf(used.map(([id]) => id)),
      this.history.read([]),
    ]);
    const counts = minutes.slice(-MINUTES).flatMap((minute) => minute.counts);
    return used.map(([id, models], index) => {
      // Rate limits are no outage, and what was rejected or canceled says nothing.
      const { succeeded, failed, rateLimited } = totalsOf(counts.filter((count) => idOf(count) === id));
      const calls = { calls: succeeded + failed - rateLimited, failed: failed - rateLimited, minutes: MINUTES };
      // Half-open counts as down: it has failed, and no call has succeeded since.
      const isPaused = states[index]?.breaker !== 'closed';
      return providerReading(id, models, { ...calls, isPaused, manyFailures: this.config.failures });
    });
  }

  private modelsByProvider(): Map<string, string[]> {
    const { models } = this.catalog.current;
    const found = new Map<string, string[]>();
    for (const { name, ranks } of models.values()) {
      for (const provider of new Set(ranks.flat().map((route) => route.provider))) {
        found.set(provider, [...(found.get(provider) ?? []), name]);
      }
    }
    return found;
  }
}

/** The id of the server that was called. */
function idOf({ provider: name, server }: CallCount): string {
  return serverId({ name, server });
}
