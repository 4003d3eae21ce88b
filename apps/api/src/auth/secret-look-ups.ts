import { LRUCache } from 'lru-cache';
import { atMost } from '#limits/at-most.js';
import type { FirstLookUpLimiter } from './first-look-up-limiter.js';

/** How long an unknown secret is rejected without another lookup, in ms. */
const UNKNOWN_TTL_MS = 5_000;
const MAX_SECRETS = 10_000;

/**
 * Lookups of API keys and session tokens. Secrets that this process found before are looked up at once, all others
 * through the limiter, and unknown ones not again for a few seconds. So invented secrets cost the database little.
 */
export class SecretLookUps {
  private readonly known = new LRUCache<string, true>(atMost(MAX_SECRETS));
  private readonly unknown = new LRUCache<string, true>({ ...atMost(MAX_SECRETS), ttl: UNKNOWN_TTL_MS });

  constructor(private readonly limiter: FirstLookUpLimiter) {}

  /** Looks up the secret with the digest `name`, sent from `address`. Throws what `lookUp` and the limiter throw. */
  async run<T>(
    name: string,
    address: string | undefined,
    lookUp: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    if (this.unknown.has(name)) return undefined;
    const lookUpOnce = async (): Promise<T | undefined> => {
      // Another request may have looked it up meanwhile.
      if (this.unknown.has(name)) return undefined;
      const found = await lookUp();
      if (found !== undefined) this.known.set(name, true);
      // A secret that was valid recently may become valid again, for example when its account is re-enabled.
      else if (!this.known.delete(name)) this.unknown.set(name, true);
      return found;
    };
    return this.known.has(name) ? await lookUpOnce() : await this.limiter.run(address, lookUpOnce);
  }
}
