import { Injectable } from '@nestjs/common';
import { CatalogSource } from '#catalog/catalog-source.js';
import { LimiterState } from '#routing/limiter-state.js';
import { ProviderSwitches } from '#routing/provider-switches.js';
import { providerReading, type AlertReading } from './alert-words.js';

/** Whether the providers that models use are down. */
@Injectable()
export class ProviderReadings {
  constructor(
    private readonly source: CatalogSource,
    private readonly limiter: LimiterState,
    private readonly switches: ProviderSwitches,
  ) {}

  /** Skips drained providers. Rejects when Redis or the database does not answer. */
  async all(): Promise<AlertReading[]> {
    const drained = new Set((await this.switches.list()).map(({ provider }) => provider));
    const used = [...this.modelsByProvider()].filter(([name]) => !drained.has(name));
    if (used.length === 0) return [];
    const states = await this.limiter.statesOf(used.map(([name]) => name));
    // Half-open counts as down: it has failed, and no call has succeeded since.
    return used.map(([name, models], index) => providerReading(name, models, states[index]?.breaker !== 'closed'));
  }

  private modelsByProvider(): Map<string, string[]> {
    const { models } = this.source.current;
    const found = new Map<string, string[]>();
    for (const { name, ranks } of models.values()) {
      for (const provider of new Set(ranks.flat().map((route) => route.provider))) {
        found.set(provider, [...(found.get(provider) ?? []), name]);
      }
    }
    return found;
  }
}
