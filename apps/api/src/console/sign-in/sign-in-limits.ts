import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { createHash } from 'node:crypto';
import { AppError } from '#contract/app-error.js';
import { networkOf } from '../../common/network-of.js';
import { RateCounter } from '../../limits/rate-counter.js';

/** Injection token: length of the window in which attempts are counted, in seconds. */
export const SIGN_IN_WINDOW_SECONDS = Symbol('seconds of a window of sign-ins');
/**
 * Attempts per window: for one email address from one network address, for one email address from anywhere, and from
 * one network address for anyone. The first is the lowest, so that an attacker locks the user out only from the
 * attacker's own address.
 */
const PER_EMAIL_AND_ADDRESS = 10;
const PER_EMAIL = 50;
const PER_ADDRESS = 100;
/** Codes per sign-in, from anywhere: of a million codes, three are valid at a time. */
const CODES_PER_SIGN_IN = 10;
/** Emails that anyone can request for one user. */
const MAILS_PER_EMAIL = 3;
const MAILS_PER_ADDRESS = 20;
/** Without Redis each process counts for itself and allows less, because there may be several processes. */
const SHARE_ALONE = 1 / 2;
const MAX_NAMES = 10_000;

/**
 * Rejects frequent sign-in attempts. Every attempt counts before its password is checked, including successful ones.
 */
@Injectable()
export class SignInLimits {
  private readonly alone: LRUCache<string, number>;

  constructor(
    private readonly counter: RateCounter,
    @Inject(SIGN_IN_WINDOW_SECONDS) private readonly windowSeconds: number,
  ) {
    this.alone = new LRUCache<string, number>({ max: MAX_NAMES, ttl: windowSeconds * 1_000 });
  }

  /** Throws AppError `rate_limit_exceeded`. */
  async admit(address: string, email?: string): Promise<void> {
    const network = networkOf(address);
    await this.count(`sign-in:address:${network}`, PER_ADDRESS);
    if (email === undefined) return;
    // Redis key names must not contain email addresses.
    const person = digest(email);
    await this.count(`sign-in:email:${person}:${network}`, PER_EMAIL_AND_ADDRESS);
    await this.count(`sign-in:email:${person}`, PER_EMAIL);
  }

  /**
   * Like `admit`, for the start of a sign-in: checking a link, or a redirect to the provider, whose callback is counted
   * by `admit`.
   */
  async admitStart(address: string): Promise<void> {
    await this.count(`sign-in:begun:${networkOf(address)}`, PER_ADDRESS);
  }

  /** Like `admit`, for a code after the password. */
  async admitCode(address: string, signInId: string): Promise<void> {
    await this.admit(address);
    await this.count(`sign-in:code:${signInId}`, CODES_PER_SIGN_IN);
  }

  /** Like `admit`, for an email to an address, whether or not it belongs to a user. */
  async admitMail(address: string, email: string): Promise<void> {
    await this.count(`sign-in:mail:${networkOf(address)}`, MAILS_PER_ADDRESS);
    await this.count(`sign-in:mail:${digest(email)}`, MAILS_PER_EMAIL);
  }

  private async count(name: string, limit: number): Promise<void> {
    // Counted locally too, so that a Redis failure during an attack does not reset the counts.
    const here = (this.alone.get(name) ?? 0) + 1;
    this.alone.set(name, here, { noUpdateTTL: true });
    const counted = await this.counter.count(name, this.windowSeconds).catch(() => undefined);
    if (counted === undefined ? here <= limit * SHARE_ALONE : counted.place <= limit) return;
    throw new AppError('rate_limit_exceeded', 'Too many attempts. Try again later.', {
      retryAfter: counted?.resetSeconds ?? this.windowSeconds,
    });
  }
}

function digest(email: string): string {
  return createHash('sha256').update(email).digest('base64url');
}
