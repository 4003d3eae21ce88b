import { Injectable } from '@nestjs/common';
import { mailboxOf } from '#accounts/person-rules.js';
import { networkOf } from '../../common/network-of.js';
import { AttemptLimiter, hashed } from '#limits/attempt-limiter.js';

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
/**
 * Wrong ones after one password, in longer and longer windows, in seconds: somebody with the password has at most 100
 * guesses a month. A new password starts new windows.
 */
const CODES_PER_PASSWORD = [
  [20, 6 * 3_600],
  [40, 3 * 86_400],
  [100, 30 * 86_400],
] as const;
/** Each step from a browser that has signed in before, which no stranger's attempts count against. */
const PER_KNOWN_BROWSER = 10;
/** Emails that anyone can request for one user. */
const MAILS_PER_EMAIL = 3;
const MAILS_PER_ADDRESS = 20;

/** Whose code is checked, and what makes the attempt one of theirs rather than a stranger's. */
interface CodeAttempt {
  readonly address: string;
  readonly signInId: string;
  /** Of the password that was entered before. */
  readonly credentialsDigest?: string | undefined;
  /** The id of a browser that has signed in with this sign-in before, or stands for the user who is signed in. */
  readonly browser: string | undefined;
}

/** The budget of a user who is signed in, which strangers who try to sign in do not use up. */
export function signedIn(signInId: string): string {
  return `of ${signInId}`;
}

/**
 * Rejects frequent sign-in attempts. Every attempt counts before its password is checked, including successful ones.
 */
@Injectable()
export class SignInLimits {
  constructor(private readonly attempts: AttemptLimiter) {}

  /**
   * `browser`: the id of a browser that has signed in with this email address before. It has a budget of its own, so that
   * no number of strangers locks the user out. Throws AppError `rate_limit_exceeded`.
   */
  async admit(address: string, email?: string, browser?: string): Promise<void> {
    if (email !== undefined && browser !== undefined) {
      await this.attempts.admit(`sign-in:browser:${browser}:${hashed(email)}`, PER_KNOWN_BROWSER);
      return;
    }
    const network = networkOf(address);
    await this.attempts.admit(`sign-in:address:${network}`, PER_ADDRESS);
    if (email === undefined) return;
    const person = hashed(email);
    await this.attempts.admit(`sign-in:email:${person}:${network}`, PER_EMAIL_AND_ADDRESS);
    await this.attempts.admit(`sign-in:email:${person}`, PER_EMAIL);
  }

  /**
   * Like `admit`, for the start of a sign-in: checking a link, or a redirect to the provider, whose callback is counted
   * by `admit`. `browser`: the id of one in which anybody has signed in before.
   */
  async admitStart(address: string, browser?: string): Promise<void> {
    const whose = browser === undefined ? networkOf(address) : `browser:${browser}`;
    await this.attempts.admit(`sign-in:begun:${whose}`, PER_ADDRESS);
  }

  /** Like `admit`, for a passkey, which names its owner only once it is checked; `browser` as for `admitStart`. */
  async admitPasskey(address: string, browser?: string): Promise<void> {
    if (browser === undefined) await this.admit(address);
    else await this.attempts.admit(`sign-in:browser:${browser}:passkey`, PER_KNOWN_BROWSER);
  }

  /**
   * Like `admit`, for a code. A code counts before it is checked, so that no number of simultaneous guesses gets past a
   * limit; `returnAttempt` takes a right one out of the long windows again, which would end up locking out its owner.
   */
  async admitCode(attempt: CodeAttempt): Promise<{ returnAttempt: () => Promise<void> }> {
    const { address, signInId, credentialsDigest = '', browser } = attempt;
    if (browser === undefined) await this.admit(address);
    // Attempts with the password from other browsers than the user's use up a separate budget.
    const codes = `sign-in:code:${signInId}${browser === undefined ? '' : `:browser:${browser}`}`;
    await this.attempts.admit(codes, browser === undefined ? CODES_PER_SIGN_IN : PER_KNOWN_BROWSER);
    const names: string[] = [];
    for (const [limit, seconds] of CODES_PER_PASSWORD) {
      const name = `${codes}:${credentialsDigest}:${seconds}`;
      await this.attempts.admit(name, limit, seconds);
      names.push(name);
    }
    return {
      returnAttempt: async () => void (await Promise.all(names.map((name) => this.attempts.returnAttempt(name)))),
    };
  }

  /** Like `admit`, for an email to an address, whether or not it belongs to a user. */
  async admitMail(address: string, email: string): Promise<void> {
    await this.attempts.admit(`sign-in:mail:${networkOf(address)}`, MAILS_PER_ADDRESS);
    await this.attempts.admit(`sign-in:mail:${hashed(mailboxOf(email))}`, MAILS_PER_EMAIL);
  }
}
