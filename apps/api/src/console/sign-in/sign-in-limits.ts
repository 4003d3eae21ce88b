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
 * The same after one password, in longer and longer windows, in seconds: whoever has the password has at most 100
 * guesses a month. A new password, which they do not have, begins anew.
 */
const CODES_PER_PASSWORD = [
  [20, 6 * 3_600],
  [40, 3 * 86_400],
  [100, 30 * 86_400],
] as const;
/** From a browser that has signed in as the user before, which no stranger's attempts count against. */
const PER_KNOWN_BROWSER = 10;
/** Emails that anyone can request for one user. */
const MAILS_PER_EMAIL = 3;
const MAILS_PER_ADDRESS = 20;

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
   * by `admit`.
   */
  async admitStart(address: string): Promise<void> {
    await this.attempts.admit(`sign-in:begun:${networkOf(address)}`, PER_ADDRESS);
  }

  /** Like `admit`, for a code; `credentialsDigest`: of the password that was entered before. */
  async admitCode(address: string, signInId: string, credentialsDigest = ''): Promise<void> {
    await this.admit(address);
    await this.attempts.admit(`sign-in:code:${signInId}`, CODES_PER_SIGN_IN);
    for (const [limit, seconds] of CODES_PER_PASSWORD) {
      await this.attempts.admit(`sign-in:code:${signInId}:${credentialsDigest}:${seconds}`, limit, seconds);
    }
  }

  /** Like `admit`, for an email to an address, whether or not it belongs to a user. */
  async admitMail(address: string, email: string): Promise<void> {
    await this.attempts.admit(`sign-in:mail:${networkOf(address)}`, MAILS_PER_ADDRESS);
    await this.attempts.admit(`sign-in:mail:${hashed(mailboxOf(email))}`, MAILS_PER_EMAIL);
  }
}
