import type { Catalog, ModelEntry } from '#catalog/catalog.js';
import { serverId, serverOf, type ProviderEntry } from '#providers/provider-entry.js';
import { candidatesOf, type Candidate, type Chance } from '#routing/route-plan.js';
import type { ResponseHolder } from '#routing/stored-responses.js';

/** A server of a provider, one of its keys, and the model there. */
export type Attempt = Pick<Candidate, 'provider' | 'key' | 'model'>;

/**
 * The order in which this process calls providers and their keys for a chat. Nothing is injected: it uses its own
 * randomness and clock, which tests replace.
 *
 * Chats don't ask the limiter, which all processes share, about a provider without limits, because that would cost each
 * of them a call to Redis. So the plan remembers by itself which keys to avoid. It calls them last, where the limiter
 * would refuse them: they take none of the attempts of keys that work, and are still better than no response. This also
 * holds without Redis, and for a provider that can't be reached, before enough failures open its breaker.
 */
export class ChatPlan {
  private rotation = 0;
  /** When each avoided key is used normally again, in ms since the epoch. */
  private readonly coolingDown = new Map<string, number>();

  constructor(
    private readonly random: () => number = Math.random,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * Ranks in order, routes of a rank by weight, a provider's servers and their keys in rotation; avoided keys come last. With `holder`,
   * only its provider, and only its key as long as there is one; with `region`, only servers there.
   */
  attempts(
    model: ModelEntry,
    catalog: Catalog,
    isDrained: (server: ProviderEntry) => boolean = () => false,
    holder?: ResponseHolder,
    region?: string,
  ): Attempt[] {
    const rotation = this.rotation++;
    const chance: Chance = {
      random: this.random,
      firstServer: () => rotation,
      // After each round of the servers; in step with them, some servers would never be called with some keys first.
      firstKey: (_server, _count, servers) => Math.floor(rotation / servers),
    };
    const planned = candidatesOf(model.ranks, catalog, chance, region);
    const open = planned.filter(({ provider }) => !isDrained(provider));
    const all = holder === undefined ? open : heldBy(holder, catalog, open);
    if (this.coolingDown.size === 0) return all;
    const ready = all.filter((one) => !this.isCoolingDown(one));
    const resting = all.filter((one) => this.isCoolingDown(one));
    return [...ready, ...resting];
  }

  /** Avoids a key that was refused or rate-limited, for so many seconds. */
  coolDown(attempt: Attempt, seconds: number): void {
    this.coolingDown.set(nameOf(attempt), this.now() + seconds * 1000);
  }

  private isCoolingDown(attempt: Attempt): boolean {
    const name = nameOf(attempt);
    const until = this.coolingDown.get(name);
    if (until === undefined) return false;
    if (until > this.now()) return true;
    this.coolingDown.delete(name);
    return false;
  }
}

/** The provider that holds a response, with its key, or with all of them once that is gone. */
export function attemptsAt(holder: ResponseHolder, catalog: Catalog): Attempt[] {
  const server = holdingServer(holder, catalog);
  if (server === undefined) return [];
  const keys = server.keys.length === 0 ? [undefined] : server.keys;
  return heldBy(
    holder,
    catalog,
    keys.map((key) => ({ provider: server, key, model: '' })),
  );
}

/** Only the calls to the server that has the response, with its key as long as there is one. */
function heldBy<One extends Attempt>(holder: ResponseHolder, catalog: Catalog, all: readonly One[]): One[] {
  const { providerKey } = holder;
  const server = holdingServer(holder, catalog);
  const there = all.filter(({ provider }) => provider === server);
  const exact = there.filter(({ key }) => (key?.name ?? null) === providerKey);
  return exact.length > 0 ? exact : there;
}

function holdingServer({ provider, providerServer }: ResponseHolder, { providers }: Catalog) {
  const known = providers.get(provider);
  return known && serverOf(known, providerServer ?? undefined);
}

function nameOf({ provider, key }: Attempt): string {
  return `${serverId(provider)}\n${key?.name ?? ''}`;
}
