import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { createHash } from 'node:crypto';
import { AppError } from '#contract/app-error.js';
import { atMost } from './at-most.js';
import { RateCounter } from './rate-counter.js';

/** Injection token: the length of a window, in seconds. */
export const ATTEMPT_WINDOW_SECONDS = Symbol('seconds of a window of attempts');
/** Without Redis each process counts on its own and allows less, because there may be several of them. */
const SHARE_ALONE = 1 / 2;
const MAX_NAMES = 10_000;

/**
 * Limits what people do by hand: signing in, changes in the console, tests and resends of webhooks, and what sends email.
 * Goes on counting in memory while Redis is down.
 */
@Injectable()
export class AttemptLimiter {
  private readonly alone: LRUCache<string, number>;

  constructor(
    private readonly counter: RateCounter,
    @Inject(ATTEMPT_WINDOW_SECONDS) private readonly windowSeconds: number,
  ) {
    this.alone = new LRUCache<string, number>({ ...atMost(MAX_NAMES), ttl: windowSeconds * 1_000 });
  }

  /**
   * Counts an attempt. Throws AppError `rate_limit_exceeded` above `limit` attempts in a window, which has the usual
   * length unless another is given.
   */
  async admit(name: string, limit: number, windowSeconds = this.windowSeconds): Promise<void> {
    // Counted here too, so that Redis failing in the middle of an attack resets nothing.
    const here = (this.alone.get(name) ?? 0) + 1;
    this.alone.set(name, here, { noUpdateTTL: true, ttl: windowSeconds * 1_000 });
    const counted = await this.counter.count(name, windowSeconds).catch(() => undefined);
    if (counted === undefined ? here <= limit * SHARE_ALONE : counted.place <= limit) return;
    throw new AppError('rate_limit_exceeded', 'Too many attempts. Try again later.', {
      retryAfter: counted?.resetSeconds ?? windowSeconds,
    });
  }

  /** Returns an admitted attempt, which its window then no longer counts. Never fails: without Redis it goes on counting there. */
  async returnAttempt(name: string): Promise<void> {
    const here = this.alone.get(name) ?? 0;
    if (here > 0) this.alone.set(name, here - 1, { noUpdateTTL: true });
    await this.counter.returnRequest(name).catch(() => undefined);
  }
}

/** Stands for a person's address in a name, because names of Redis keys hold no addresses. */
export function hashed(address: string): string {
  return createHash('sha256').update(address).digest('base64url');
}
