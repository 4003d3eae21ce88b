import { Injectable } from '@nestjs/common';
import { mailboxOf } from '#accounts/person-rules.js';
import { AttemptLimiter, hashed } from '#limits/attempt-limiter.js';

/** Per 15 minutes: what an account may send, and what one address gets from all accounts. */
const PER_ACCOUNT = 100;
const PER_RECIPIENT = 5;

/** Limits what an account sends at will, so that no account floods a mailbox: invitations, links and tests of alert channels. */
@Injectable()
export class MailLimits {
  constructor(private readonly attempts: AttemptLimiter) {}

  /** Counts a message. Throws AppError `rate_limit_exceeded`. */
  async admit(accountId: string, address: string): Promise<void> {
    await this.attempts.admit(`mail:account:${accountId}`, PER_ACCOUNT);
    await this.attempts.admit(`mail:to:${hashed(mailboxOf(address))}`, PER_RECIPIENT);
  }
}
