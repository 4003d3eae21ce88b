import { Injectable } from '@nestjs/common';
import { CatalogSource } from '#catalog/catalog-source.js';
import type { Catalog } from '#catalog/catalog.js';
import { imagesUrl } from '#providers/descriptors.js';
import { serverId, type ProviderEntry } from '#providers/provider-entry.js';
import { CallHistory, type CallCount } from '#routing/call-history.js';
import { LimiterState, type ServerState } from '#routing/limiter-state.js';
import { ProviderLimiter } from '#routing/provider-limiter.js';
import { ProviderSwitches, type ProviderSwitch } from '#routing/provider-switches.js';
import type { ProviderStateView, ServerStateView, TriedView } from './dto/operation-views.dto.js';
import { recentCallsView } from './dto/recent-calls.dto.js';
import { redisUnavailable } from './redis-unavailable.js';

/** The state of providers, how their calls went, and which ones are drained. */
@Injectable()
export class ProviderStates {
  constructor(
    private readonly source: CatalogSource,
    private readonly limiter: LimiterState,
    private readonly calls: ProviderLimiter,
    private readonly switches: ProviderSwitches,
    private readonly history: CallHistory,
  ) {}

  /**
   * Providers of the catalog, and drained ones that are no longer in it. Throws AppError `server_is_overloaded` when
   * Redis does not answer.
   */
  async list(): Promise<Omit<ProviderStateView, 'trials'>[]> {
    const catalog = this.source.current;
    const drained = new Map((await this.switches.list()).map((row) => [row.provider, row]));
    const ids = new Set([...catalog.providers.values()].flatMap(({ servers }) => servers.map(serverId)));
    const gone = [...drained.keys()].filter((name) => !catalog.providers.has(name) && !ids.has(name));
    const names = [...new Set([...catalog.providers.keys(), ...gone])];
    const [states, history] = await Promise.all([
      this.limiter.statesOf([...ids]).catch(redisUnavailable),
      this.history.read([...new Set([...names, ...ids])]).catch(redisUnavailable),
    ]);
    const stateOf = new Map([...ids].map((id, index) => [id, states[index]]));
    return names.map((name) => {
      const provider = catalog.providers.get(name);
      const servers = (provider?.servers ?? []).map((server) => {
        const id = serverId(server);
        const isOwn = (count: CallCount): boolean => count.provider === name && count.server === server.server;
        return {
          ...serverView(server, stateOf.get(id), server.server === undefined ? undefined : drained.get(id)),
          last_hour: recentCallsView(history, id, isOwn),
        };
      });
      const keys = (provider?.servers ?? []).flatMap((server) =>
        server.keys.map(({ name: key, secret }) => ({ name: labelOf(server.server, key), isSet: secret !== '' })),
      );
      // A drained server gets no calls, however well it is.
      const undrained = servers.filter((server) => server.drained === null);
      const used = undrained.length > 0 ? undrained : servers;
      const closest = used.toSorted((a, b) => BREAKERS.indexOf(a.breaker) - BREAKERS.indexOf(b.breaker))[0];
      return {
        name,
        type: provider?.type ?? null,
        models: modelsOf(catalog, name),
        images_url: servers[0]?.images_url ?? null,
        unset_keys: keys.filter(({ isSet }) => !isSet).map((key) => key.name),
        has_key: keys.length === 0 || keys.some(({ isSet }) => isSet),
        servers,
        breaker: closest?.breaker ?? 'closed',
        open_ms: soonest(used.map(({ open_ms }) => open_ms)),
        calls: sum(servers.map(({ calls }) => calls)),
        concurrency: sumOfLimits(servers.map(({ concurrency }) => concurrency)),
        starts: sum(servers.map(({ starts }) => starts)),
        starts_per_minute: sumOfLimits(servers.map(({ starts_per_minute }) => starts_per_minute)),
        resting_keys: servers.flatMap((server) =>
          server.resting_keys.map(({ key, rests_ms }) => ({ key: labelOf(server.name ?? undefined, key), rests_ms })),
        ),
        rests_ms: soonest(used.filter(({ breaker }) => breaker === 'closed').map(({ rests_ms }) => rests_ms)),
        drained: drainedView(drained.get(name)),
        last_hour: recentCallsView(history, name, (count) => count.provider === name),
      };
    });
  }

  /** `name`: of a provider, or the id of one of its servers. False when it does not exist. */
  async drain(name: string, reason: string): Promise<boolean> {
    if (!this.has(name)) return false;
    await this.switches.drain(name, reason);
    return true;
  }

  /**
   * Like `drain`. Also true for what was not drained, and for what was and is no longer in the catalog.
   */
  async resume(name: string): Promise<boolean> {
    return (await this.switches.resume(name)) || this.has(name);
  }

  /**
   * Like `drain`: ends its pauses, so that the next call tests it. Undefined when it does not exist. Throws AppError
   * `server_is_overloaded` when Redis does not answer.
   */
  async tryNow(name: string): Promise<TriedView | undefined> {
    const servers = this.serversOf(name);
    if (servers === undefined) return undefined;
    const tried = await this.calls.endPauses(servers);
    return tried === undefined ? redisUnavailable() : { paused: tried.ended > 0, waiting: tried.called };
  }

  private has(name: string): boolean {
    return this.serversOf(name) !== undefined;
  }

  /** The servers of a provider, or the one with this id. */
  private serversOf(name: string): readonly ProviderEntry[] | undefined {
    const { providers } = this.source.current;
    const all = [...providers.values()].flatMap(({ servers }) => servers);
    const found = providers.get(name)?.servers ?? all.filter((server) => serverId(server) === name);
    return found.length === 0 ? undefined : found;
  }
}

const BREAKERS = ['closed', 'half-open', 'open'] as const;

function serverView(
  server: ProviderEntry,
  state: ServerState | undefined,
  off: ProviderSwitch | undefined,
): Omit<ServerStateView, 'last_hour'> {
  return {
    name: server.server ?? null,
    region: server.region ?? null,
    images_url: imagesUrl(server),
    breaker: state?.breaker ?? 'closed',
    open_ms: state?.openMs ?? 0,
    calls: state?.calls ?? 0,
    concurrency: server.limits.concurrency ?? null,
    starts: state?.starts ?? 0,
    starts_per_minute: server.limits.startsPerMinute ?? null,
    resting_keys: [...(state?.cooling ?? [])].map(([key, ms]) => ({ key, rests_ms: ms })),
    rests_ms: restOf(server, state),
    drained: drainedView(off),
  };
}

/** How long none of its keys may be used, in ms. A server without keys is paused as one with a nameless key is. */
function restOf({ keys }: ProviderEntry, state: ServerState | undefined): number {
  const set = keys.filter(({ secret }) => secret !== '').map(({ name }) => name);
  return soonest((keys.length === 0 ? [''] : set).map((key) => state?.cooling.get(key) ?? 0));
}

function drainedView(off: ProviderSwitch | undefined): ServerStateView['drained'] {
  return off === undefined ? null : { since: off.drainedAt.toISOString(), reason: off.reason };
}

function labelOf(server: string | undefined, key: string): string {
  return server === undefined ? key : `${server}/${key}`;
}

/** The shortest of some spans; 0 without any. */
function soonest(spans: readonly number[]): number {
  return spans.length === 0 ? 0 : Math.min(...spans);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** Null where one of the servers has no limit. */
function sumOfLimits(limits: readonly (number | null)[]): number | null {
  const set = limits.filter((limit) => limit !== null);
  return set.length === 0 || set.length < limits.length ? null : sum(set);
}

function modelsOf({ models }: Catalog, name: string): string[] {
  return [...models.values()]
    .filter(({ ranks }) => ranks.flat().some(({ provider }) => provider === name))
    .map((model) => model.name);
}
