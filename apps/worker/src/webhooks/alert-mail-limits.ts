import { Injectable } from '@nestjs/common';
import { mailboxOf } from '#accounts/person-rules.js';
import { AppError } from '#contract/app-error.js';
import { AttemptLimiter, hashed } from '#limits/attempt-limiter.js';

/** Length of a window. */
export const ALERT_MAIL_SECONDS = 3_600;
/** Emails in an hour: from an account to one address, to one address from all accounts, and from an account. */
const PER_RECIPIENT = 10;
/** Three times the first, so that no account silences the alerts of another to the same address. */
const PER_MAILBOX = 30;
const PER_ACCOUNT = 100;

/** Limits the alerts by email, so that no mailbox is flooded: channels take any address. */
@Injectable()
export class AlertMailLimits {
  constructor(private readonly attempts: AttemptLimiter) {}

  /** Counts an email; false above a limit. What one limit stops does not count in the next. */
  async admit(accountId: string, address: string): Promise<boolean> {
    const mailbox = hashed(mailboxOf(address));
    try {
      await this.attempts.admit(`alert:to:${mailbox}:${accountId}`, PER_RECIPIENT);
      await this.attempts.admit(`alert:to:${mailbox}`, PER_MAILBOX);
      await this.attempts.admit(`alert:account:${accountId}`, PER_ACCOUNT);
      return true;
    } catch (error) {
      if (error instanceof AppError) return false;
      throw error;
    }
  }
}
