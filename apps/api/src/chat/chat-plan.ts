import type { Catalog, ModelEntry } from '#catalog/catalog.js';
import { candidatesOf, type Candidate } from '#routing/route-plan.js';

/** One provider, with one of its keys, that may be asked. */
export type Attempt = Pick<Candidate, 'provider' | 'key' | 'model'>;

/** However many routes and keys there are, a caller does not wait for more refusals. */
const MAX_ATTEMPTS = 6;

/**
 * The order in which providers and their keys are asked for a chat, in this process. Nothing is injected: chance and clock
 * are the process's own, unless a test brings others.
 */
export class ChatPlan {
  private turns = 0;
  /** Milliseconds since the epoch until which a key is asked only when nobody else is left. */
  private readonly resting = new Map<string, number>();

  constructor(
    private readonly random: () => number = Math.random,
    private readonly now: () => number = Date.now,
  ) {}

  /** Ranks in their order, routes of a rank by weight, the keys of a provider by turns; what rests comes last. */
  attempts(model: ModelEntry, catalog: Catalog, isDrained: (provider: string) => boolean = () => false): Attempt[] {
    const turn = this.turns++;
    const planned = candidatesOf(model.ranks, catalog, { random: this.random, firstKey: () => turn });
    const all = planned.filter(({ provider }) => !isDrained(provider.name));
    if (this.resting.size === 0) return all.slice(0, MAX_ATTEMPTS);
    const [ready, resting] = [all.filter((one) => !this.rests(one)), all.filter((one) => this.rests(one))];
    return [...ready, ...resting].slice(0, MAX_ATTEMPTS);
  }

  /** Lets a key that was refused, or that has had enough, rest for so many seconds. */
  rest(attempt: Attempt, seconds: number): void {
    this.resting.set(nameOf(attempt), this.now() + seconds * 1000);
  }

  private rests(attempt: Attempt): boolean {
    const name = nameOf(attempt);
    const until = this.resting.get(name);
    if (until === undefined) return false;
    if (until > this.now()) return true;
    this.resting.delete(name);
    return false;
  }
}

function nameOf({ provider, key }: Attempt): string {
  return `${provider.name}\n${key?.name ?? ''}`;
}
