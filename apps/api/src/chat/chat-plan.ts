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
   * only its server, and only its key as long as there is one; with `region`, only servers there.
   */
  attempts(
    model: ModelEntry,
    catalog: Catalog,
    isDrained: (server: ProviderEntry) => boolean = () => false,
    holder?: HoldingServer,
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
    const all = holder === undefined ? open : heldBy(holder, open);
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

/** The server that holds a response, and the name of the key that created it; null for a server without keys. */
export interface HoldingServer extends Pick<ResponseHolder, 'providerKey'> {
  readonly server: ProviderEntry;
}

/** Undefined when the catalog no longer has the server. */
export function holdingServer(
  { provider, providerKey, providerServer }: ResponseHolder,
  { providers }: Catalog,
): HoldingServer | undefined {
  const known = providers.get(provider);
  const server = known && serverOf(known, providerServer ?? undefined);
  return server && { server, providerKey };
}

/** The server that holds a response, with its key, or with all of them once that is gone. */
export function attemptsAt(holder: HoldingServer): Attempt[] {
  const { server } = holder;
  const keys = server.keys.length === 0 ? [undefined] : server.keys;
  return heldBy(
    holder,
    keys.map((key) => ({ provider: server, key, model: '' })),
  );
}

/** Only the calls to the server that has the response, with its key as long as there is one. */
function heldBy<One extends Attempt>({ server, providerKey }: HoldingServer, all: readonly One[]): One[] {
  const there = all.filter(({ provider }) => provider === server);
  const exact = there.filter(({ key }) => (key?.name ?? null) === providerKey);
  return exact.length > 0 ? exact : there;
}

function nameOf({ provider, key }: Attempt): string {
  return `${serverId(provider)}\n${key?.name ?? ''}`;
}
