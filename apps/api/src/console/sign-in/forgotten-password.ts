import { Injectable } from '@nestjs/common';
import { AuditLog } from '#accounts/audit-log.js';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import { MailNotSent } from '#notifications/mail/mailer.js';
import { Logger } from '#telemetry/logger.js';
import { LinkMails } from './link-mails.js';
import { ResetLinks } from './reset-links.js';
import { SignInLimits } from './sign-in-limits.js';

/** Emails being sent by one process: each may be retried for minutes. */
const MAX_AT_ONCE = 100;
/** Requests for one user within this time make one audit entry. */
const QUIET_MS = 900_000;

/** Emails a reset link to a user who forgot their password. */
@Injectable()
export class ForgottenPassword {
  private underWay = 0;

  constructor(
    private readonly links: ResetLinks,
    private readonly mails: LinkMails,
    private readonly limits: SignInLimits,
    private readonly audit: AuditLog,
    private readonly logger: Logger,
  ) {}

  /**
   * Returns before any lookup, so that neither the response nor its timing reveals whether the email address is known.
   * Throws AppError: `not_permitted` when email is off, `rate_limit_exceeded`, and `server_is_overloaded` when too many
   * emails are being sent.
   */
  async ask(address: string, email: string): Promise<void> {
    if (!this.mails.enabled)
      throw new AppError('not_permitted', 'This installation sends no email. Ask an owner or admin for a link.');
    await this.limits.admitMail(address, email);
    if (this.underWay >= MAX_AT_ONCE) {
      const text = 'Too many emails are being sent right now. Try again shortly.';
      throw unavailable(text, { retryAfter: 60 });
    }
    this.underWay += 1;
    void this.mail(email)
      // The mailer has logged the failure, and the user can ask again.
      .catch((error: unknown) => {
        if (!(error instanceof MailNotSent)) this.logger.warn('mail.not_sent', { error });
      })
      .finally(() => (this.underWay -= 1));
  }

  private async mail(email: string): Promise<void> {
    const links = await this.links.create(email);
    if (links.length === 0) return;
    for (const { person } of links) {
      const { id, accountId, name } = person;
      const details = { name, email };
      const event = { accountId, personId: null, action: 'person.forgot_password', target: id, details } as const;
      await this.audit.writeOncePer(event, QUIET_MS);
    }
    await this.mails.forgotPassword(email, links);
  }
}
