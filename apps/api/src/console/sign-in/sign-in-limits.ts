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
/** Emails that anyone can request for one user. */
const MAILS_PER_EMAIL = 3;
const MAILS_PER_ADDRESS = 20;

/**
 * Rejects frequent sign-in attempts. Every attempt counts before its password is checked, including successful ones.
 */
@Injectable()
export class SignInLimits {
  constructor(private readonly attempts: AttemptLimiter) {}

  /** Throws AppError `rate_limit_exceeded`. */
  async admit(address: string, email?: string): Promise<void> {
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

  /** Like `admit`, for a code after the password. */
  async admitCode(address: string, signInId: string): Promise<void> {
    await this.admit(address);
    await this.attempts.admit(`sign-in:code:${signInId}`, CODES_PER_SIGN_IN);
  }

  /** Like `admit`, for an email to an address, whether or not it belongs to a user. */
  async admitMail(address: string, email: string): Promise<void> {
    await this.attempts.admit(`sign-in:mail:${networkOf(address)}`, MAILS_PER_ADDRESS);
    await this.attempts.admit(`sign-in:mail:${hashed(mailboxOf(email))}`, MAILS_PER_EMAIL);
  }
}
