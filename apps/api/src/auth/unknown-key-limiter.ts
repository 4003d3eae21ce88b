import { AppError } from '#contract/app-error.js';
import type { ApiConfig } from '../common/api.config.js';
import { networkOf } from '../common/network-of.js';

/** Limits for lookups of unknown keys and sessions in this process: how many run at once, and how many wait. */
export interface UnknownKeyLimits {
  readonly atOnce: number;
  /** Maximum number of waiting callers per network. */
  readonly perNetwork: number;
  /** Maximum number of waiting callers in all. */
  readonly inAll: number;
  /** Longest wait, in ms. */
  readonly patienceMs: number;
}

/** Unknown keys wait in line, which slows a flood down; immediate rejections would only make room for more. */
export const UNKNOWN_KEY_LIMITS: UnknownKeyLimits = { atOnce: 4, perNetwork: 2_500, inAll: 5_000, patienceMs: 10_000 };

/** The default limits with the operator's settings. */
export function unknownKeyLimits(
  config: Pick<ApiConfig, 'unknownKeyLookUps' | 'unknownKeysWaiting'>,
): UnknownKeyLimits {
  const { unknownKeyLookUps: atOnce, unknownKeysWaiting: perNetwork } = config;
  return { ...UNKNOWN_KEY_LIMITS, atOnce, perNetwork, inAll: 2 * perNetwork };
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
    await this.turn(network);
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

  private turn(network: string): Promise<void> {
    const line = this.lines.get(network) ?? [];
    if (line.length >= this.limits.perNetwork) throw tooManyOfNetwork();
    if (this.waiting >= this.limits.inAll) throw overloaded();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.leave(network, waiting);
        reject(overloaded());
      }, this.limits.patienceMs);
      const waiting: Waiting = { start: resolve, timer };
      line.push(waiting);
      this.lines.set(network, line);
      this.waiting++;
      this.startNext();
    });
  }

  private startNext(): void {
    for (const [network, line] of this.lines) {
      if (this.busy.size >= this.limits.atOnce) return;
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
