import { Injectable } from '@nestjs/common';
import { CatalogSource } from '#catalog/catalog-source.js';
import type { Catalog } from '#catalog/catalog.js';
import { imagesUrl } from '#providers/descriptors.js';
import { LimiterState } from '#routing/limiter-state.js';
import { ProviderSwitches } from '#routing/provider-switches.js';
import type { ProviderStateView } from './dto/operation-views.dto.js';
import { redisUnavailable } from './redis-unavailable.js';

/** The state of providers, and which ones are drained. */
@Injectable()
export class ProviderStates {
  constructor(
    private readonly source: CatalogSource,
    private readonly limiter: LimiterState,
    private readonly switches: ProviderSwitches,
  ) {}

  /**
   * Providers of the catalog, and drained ones that are no longer in it. Throws AppError `server_is_overloaded` when
   * Redis does not answer.
   */
  async list(): Promise<Omit<ProviderStateView, 'trials'>[]> {
    const catalog = this.source.current;
    const drained = new Map((await this.switches.list()).map((row) => [row.provider, row]));
    const names = [...new Set([...catalog.providers.keys(), ...drained.keys()])];
    const states = await this.limiter.statesOf(names).catch(redisUnavailable);
    return names.map((name, index) => {
      const entry = catalog.providers.get(name);
      const state = states[index];
      const off = drained.get(name);
      const keys = entry?.keys ?? [];
      return {
        name,
        type: entry?.type ?? null,
        models: modelsOf(catalog, name),
        images_url: entry === undefined ? null : imagesUrl(entry),
        unset_keys: keys.filter(({ secret }) => secret === '').map((key) => key.name),
        has_key: keys.length === 0 || keys.some(({ secret }) => secret !== ''),
        breaker: state?.breaker ?? 'closed',
        open_ms: state?.openMs ?? 0,
        calls: state?.calls ?? 0,
        concurrency: entry?.limits.concurrency ?? null,
        starts: state?.starts ?? 0,
        starts_per_minute: entry?.limits.startsPerMinute ?? null,
        resting_keys: [...(state?.cooling ?? [])].map(([key, ms]) => ({ key, rests_ms: ms })),
        drained: off === undefined ? null : { since: off.drainedAt.toISOString(), reason: off.reason },
      };
    });
  }

  /** False when the provider does not exist. */
  async drain(name: string, reason: string): Promise<boolean> {
    if (!this.source.current.providers.has(name)) return false;
    await this.switches.drain(name, reason);
    return true;
  }

  /**
   * Like `drain`. Also true for a provider that was not drained, and for a drained one that is no longer in the
   * catalog.
   */
  async resume(name: string): Promise<boolean> {
    return (await this.switches.resume(name)) || this.source.current.providers.has(name);
  }
}

function modelsOf({ models }: Catalog, name: string): string[] {
  return [...models.values()]
    .filter(({ ranks }) => ranks.flat().some(({ provider }) => provider === name))
    .map((model) => model.name);
}
