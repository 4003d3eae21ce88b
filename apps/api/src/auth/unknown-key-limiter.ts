import { AppError } from '#contract/app-error.js';
import type { ApiConfig } from '../common/api.config.js';
import { networkOf } from '../common/network-of.js';

/** Limits for lookups of unknown keys and sessions in this process: how many run at once, and how many wait. */
export interface UnknownKeyLimits {
  readonly maxConcurrent: number;
  /** Maximum number of waiting callers per network. */
  readonly maxPerNetwork: number;
  /** Maximum number of waiting callers in all. */
  readonly maxWaiting: number;
  /** Longest wait, in ms. */
  readonly maxWaitMs: number;
}

/** Unknown keys wait in line, which slows a flood down; immediate rejections would only make room for more. */
export const UNKNOWN_KEY_LIMITS: UnknownKeyLimits = {
  // Looks up hundreds of keys a second, and leaves a pool of ten connections its room for everybody else.
  maxConcurrent: 4,
  maxPerNetwork: 2_500,
  maxWaiting: 5_000,
  maxWaitMs: 10_000,
};

/** The default limits with the operator's setting. */
export function unknownKeyLimits({ unknownKeysWaiting }: Pick<ApiConfig, 'unknownKeysWaiting'>): UnknownKeyLimits {
  return { ...UNKNOWN_KEY_LIMITS, maxPerNetwork: unknownKeysWaiting, maxWaiting: 2 * unknownKeysWaiting };
}

const RETRY_SECONDS = 5;

interface Waiting {
  readonly start: () => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Lets lookups of unknown keys and sessions reach the database one at a time per network and a few in all, round-robin
 * across networks. So a flood of invented keys takes a small share of the database, and a valid key waits only behind
 * its own network.
 */
export class UnknownKeyLimiter {
  /** Waiting lookups by network, with the next network first. */
  private readonly lines = new Map<string, Waiting[]>();
  private readonly busy = new Set<string>();
  private waiting = 0;

  constructor(private readonly limits: UnknownKeyLimits = UNKNOWN_KEY_LIMITS) {}

  /**
   * Runs a lookup when it is its network's turn. Throws what the lookup throws, or AppError: `rate_limit_exceeded` when
   * too many of its network wait already, `server_is_overloaded` when too many wait in all or the wait was too long.
   */
  async run<T>(address: string | undefined, lookUp: () => Promise<T>): Promise<T> {
    const network = networkOf(address);
    await this.waitForSlot(network);
    try {
      return await lookUp();
    } finally {
      this.busy.delete(network);
      // Moves the network behind all others.
      const line = this.lines.get(network);
      if (line !== undefined && this.lines.delete(network)) this.lines.set(network, line);
      this.startNext();
    }
  }

  private waitForSlot(network: string): Promise<void> {
    const line = this.lines.get(network) ?? [];
    if (line.length >= this.limits.maxPerNetwork) throw tooManyOfNetwork();
    if (this.waiting >= this.limits.maxWaiting) throw overloaded();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.leave(network, waiting);
        reject(overloaded());
      }, this.limits.maxWaitMs);
      const waiting: Waiting = { start: resolve, timer };
      line.push(waiting);
      this.lines.set(network, line);
      this.waiting++;
      this.startNext();
    });
  }

  private startNext(): void {
    for (const [network, line] of this.lines) {
      if (this.busy.size >= this.limits.maxConcurrent) return;
      const [first] = line;
      if (first === undefined || this.busy.has(network)) continue;
      clearTimeout(first.timer);
      this.leave(network, first);
      this.busy.add(network);
      first.start();
    }
  }

  private leave(network: string, waiting: Waiting): void {
    const line = this.lines.get(network) ?? [];
    line.splice(line.indexOf(waiting), 1);
    if (line.length === 0) this.lines.delete(network);
    this.waiting--;
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

function overloaded(): AppError {
  return new AppError(
    'server_is_overloaded',
    'The service cannot accept requests right now. Please try again shortly.',
    { retryAfter: 2 },
  );
}
