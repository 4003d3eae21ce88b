import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { createHash } from 'node:crypto';
import { AppError } from '#contract/app-error.js';
import { networkOf } from '../../common/network-of.js';
import { RateCounter } from '../../limits/rate-counter.js';

/** Injection token: attempts are counted in windows of this many seconds. */
export const SIGN_IN_WINDOW_SECONDS = Symbol('seconds of a window of sign-ins');
/**
 * Attempts in a window: for one email address from one network address and from all of them, and from one network
 * address for anybody. The first is the narrowest, so that whoever guesses keeps the person out only from where they do.
 */
const PER_EMAIL_AND_ADDRESS = 10;
const PER_EMAIL = 50;
const PER_ADDRESS = 100;
/** Codes of one sign-in, from anywhere: of a million, three are right at a time. */
const CODES_PER_SIGN_IN = 10;
/** The same of mails that anybody can have sent to a person. */
const MAILS_PER_EMAIL = 3;
const MAILS_PER_ADDRESS = 20;
/** Without Redis each process counts for itself, and allows less, because there may be several of them. */
const SHARE_ALONE = 1 / 2;
const MAX_NAMES = 10_000;

/** Turns away whoever tries to sign in too often. Attempts count before the password is looked at, good ones too. */
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
    // Names of Redis keys hold no addresses of people.
    const person = digest(email);
    await this.count(`sign-in:email:${person}:${network}`, PER_EMAIL_AND_ADDRESS);
    await this.count(`sign-in:email:${person}`, PER_EMAIL);
  }

  /** The same for what only begins a sign-in: a look at a link, or going to the provider, whose return is counted by `admit`. */
  async admitStart(address: string): Promise<void> {
    await this.count(`sign-in:begun:${networkOf(address)}`, PER_ADDRESS);
  }

  /** The same for a code after the password. */
  async admitCode(address: string, signInId: string): Promise<void> {
    await this.admit(address);
    await this.count(`sign-in:code:${signInId}`, CODES_PER_SIGN_IN);
  }

  /** The same for a mail to whoever has an address, whether or not anybody has it. */
  async admitMail(address: string, email: string): Promise<void> {
    await this.count(`sign-in:mail:${networkOf(address)}`, MAILS_PER_ADDRESS);
    await this.count(`sign-in:mail:${digest(email)}`, MAILS_PER_EMAIL);
  }

  private async count(name: string, limit: number): Promise<void> {
    // Counted here too, so that Redis failing in the middle of an attack resets nothing.
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
