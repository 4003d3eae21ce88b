import { Injectable } from '@nestjs/common';
import { PROVIDER_WAITS, waitingFor, type WaitingReason } from '#contract/waiting.js';
import { serverId, type ProviderEntry } from '#providers/provider-entry.js';
import { LimiterState, type ServerState } from './limiter-state.js';
import { DrainedProviders } from './provider-switches.js';
import type { Candidate } from './route-plan.js';

/** The calls that could serve a request. */
export interface WaitingPlan {
  readonly candidates: readonly Pick<Candidate, 'provider' | 'key'>[];
  /** An operator's test, which calls drained providers, too. */
  readonly evenDrained: boolean;
}

/** Why calls would have to wait, as the limiter would answer. Asks for no permit and takes no turn. */
@Injectable()
export class ProviderWaits {
  constructor(
    private readonly state: LimiterState,
    private readonly drained: DrainedProviders,
  ) {}

  /**
   * For each plan, the wait that ends first; undefined where a call may begin now, or without candidates. One command for
   * all. Throws like RedisScript.
   */
  async of(plans: readonly WaitingPlan[]): Promise<(WaitingReason | undefined)[]> {
    const ids = [...new Set(plans.flatMap(({ candidates }) => candidates.map(({ provider }) => serverId(provider))))];
    if (ids.length === 0) return plans.map(() => undefined);
    const states = await this.state.statesOf(ids);
    const now = Date.now();
    const stateOf = new Map(ids.map((id, index) => [id, states[index]]));
    return plans.map(({ candidates, evenDrained }) => {
      /** By server, the wait of its key that ends first. */
      const waits = new Map<string, WaitingReason>();
      for (const { provider, key } of candidates) {
        const id = serverId(provider);
        const wait =
          !evenDrained && this.drained.has(provider)
            ? waitingFor('provider', { provider: provider.name, why: 'drained' })
            : waitAt(provider, key?.name ?? '', stateOf.get(id), now);
        if (wait === undefined) return undefined;
        const known = waits.get(id);
        if (known === undefined || bySoonest(wait, known) < 0) waits.set(id, wait);
      }
      return together([...waits.values()]);
    });
  }
}

function waitAt(
  server: ProviderEntry,
  key: string,
  state: ServerState | undefined,
  now: number,
): WaitingReason | undefined {
  if (state === undefined) return undefined;
  const { breaker, openMs, cooling, calls, starts } = state;
  const { concurrency = 0, startsPerMinute = 0 } = server.limits;
  const wait = (details: Partial<WaitingReason>) => waitingFor('provider', { provider: server.name, ...details });
  const after = (ms: number): string | null => (ms > 0 ? new Date(now + ms).toISOString() : null);
  if (breaker !== 'closed') return wait({ why: 'unavailable', next_try_at: after(openMs) });
  const restMs = cooling.get(key) ?? 0;
  if (restMs > 0) return wait({ why: 'key_rejected', next_try_at: after(restMs) });
  if (concurrency > 0 && calls >= concurrency) return wait({ why: 'busy', limit: concurrency });
  if (startsPerMinute > 0 && starts >= startsPerMinute) return wait({ why: 'rate', limit: startsPerMinute });
  return undefined;
}

/** The wait that ends first; the limits of equal servers, which are all reached, count as one. */
function together(waits: readonly WaitingReason[]): WaitingReason | undefined {
  const [first] = waits.toSorted(bySoonest);
  if (first === undefined || first.limit === null) return first;
  const equal = waits.filter(({ provider, why }) => provider === first.provider && why === first.why);
  return { ...first, limit: equal.reduce((sum, { limit }) => sum + (limit ?? 0), 0) };
}

function bySoonest(one: WaitingReason, other: WaitingReason): number {
  const rank = ({ why }: Pick<WaitingReason, 'why'>): number => PROVIDER_WAITS.findIndex((known) => known === why);
  // A refused key and an open breaker are pauses alike: the one that ends first counts. A pause without an end is over.
  const kind = ({ why }: WaitingReason): number =>
    why === 'unavailable' ? rank({ why: 'key_rejected' }) : rank({ why });
  const byTime = (one.next_try_at ?? '').localeCompare(other.next_try_at ?? '');
  return kind(one) - kind(other) || byTime || rank(one) - rank(other);
}
