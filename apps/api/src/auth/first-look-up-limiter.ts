import { AppError } from '#contract/app-error.js';
import { overloaded } from '#contract/unavailable.js';
import { FairSemaphore } from '#limits/fair-semaphore.js';
import type { ApiConfig } from '../common/api.config.js';
import { networkOf } from '../common/network-of.js';

/** Limits for first lookups of keys and sessions in this process: how many run at once, and how many wait. */
export interface FirstLookUpLimits {
  readonly maxConcurrent: number;
  /** Maximum number of waiting callers per network. */
  readonly maxPerNetwork: number;
  /** Maximum number of waiting callers in all. */
  readonly maxWaiting: number;
  /** Longest wait, in ms. */
  readonly maxWaitMs: number;
}

/** First lookups wait in line, which slows a flood down; immediate rejections would only make room for more. */
export const FIRST_LOOK_UP_LIMITS: FirstLookUpLimits = {
  // Looks up hundreds of keys a second, and leaves a pool of ten connections its room for everybody else.
  maxConcurrent: 4,
  maxPerNetwork: 2_500,
  maxWaiting: 5_000,
  maxWaitMs: 10_000,
};

/** The default limits with the operator's setting. */
export function firstLookUpLimits({ unknownKeysWaiting }: Pick<ApiConfig, 'unknownKeysWaiting'>): FirstLookUpLimits {
  return { ...FIRST_LOOK_UP_LIMITS, maxPerNetwork: unknownKeysWaiting, maxWaiting: 2 * unknownKeysWaiting };
}

const RETRY_SECONDS = 5;

/**
 * Lets lookups of keys and sessions that this process has not found before reach the database one at a time per network
 * and a few in all, in turns of their networks. So a flood of invented keys takes a small share of the database, and a
 * valid key waits only behind its own network.
 */
export class FirstLookUpLimiter {
  private readonly places: FairSemaphore;

  constructor({ maxConcurrent, maxPerNetwork, maxWaiting, maxWaitMs }: FirstLookUpLimits = FIRST_LOOK_UP_LIMITS) {
    this.places = new FairSemaphore(
      {
        places: maxConcurrent,
        placesOfOne: 1,
        waiting: maxWaiting,
        waitingOfOne: maxPerNetwork,
        waitMs: maxWaitMs,
      },
      (why) => (why === 'source' ? tooManyOfNetwork() : overloaded()),
    );
  }

  /**
   * Runs a lookup when it is its network's turn. Throws what the lookup throws, or AppError: `rate_limit_exceeded` when
   * too many of its network wait already, `server_is_overloaded` when too many wait in all or the wait was too long.
   */
  async run<T>(address: string | undefined, lookUp: () => Promise<T>): Promise<T> {
    return await this.places.run(networkOf(address), lookUp);
  }
}

function tooManyOfNetwork(): AppError {
  return new AppError(
    'rate_limit_exceeded',
    'Too many requests with unknown API keys or sessions from this network. Try again later.',
    {
      retryAfter: RETRY_SECONDS,
    },
  );
}
