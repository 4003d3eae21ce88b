import { LRUCache } from 'lru-cache';
import type { UnknownKeyLimiter } from './unknown-key-limiter.js';

/** How long a secret that nobody has is refused without another look-up, in ms. */
const UNKNOWN_TTL_MS = 5_000;
const MAX_SECRETS = 10_000;

/**
 * Look-ups of what requests are let in by. A secret that was found before is looked up at once; all others only as the
 * limiter lets them, and one that nobody has not again for a few seconds. So invented ones take little of the database.
 */
export class SecretLookUps {
  private readonly met = new LRUCache<string, true>({ max: MAX_SECRETS });
  private readonly unknown = new LRUCache<string, true>({ max: MAX_SECRETS, ttl: UNKNOWN_TTL_MS });

  constructor(private readonly limiter: UnknownKeyLimiter) {}

  /** Looks up the secret whose digest is `name`, which came from `address`. Throws what `lookUp` and the limiter throw. */
  async run<T>(
    name: string,
    address: string | undefined,
    lookUp: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    if (this.unknown.has(name)) return undefined;
    const look = async (): Promise<T | undefined> => {
      // Another request may have brought it meanwhile.
      if (this.unknown.has(name)) return undefined;
      const found = await lookUp();
      if (found !== undefined) this.met.set(name, true);
      // One that was good just now may be so again, as when an account is enabled.
      else if (!this.met.delete(name)) this.unknown.set(name, true);
      return found;
    };
    return this.met.has(name) ? await look() : await this.limiter.run(address, look);
  }
}
