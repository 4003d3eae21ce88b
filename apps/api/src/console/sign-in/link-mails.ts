import { Injectable } from '@nestjs/common';
import { LINK_HOURS } from '#accounts/link-store.js';
import { Mailer, MailNotSent } from '#notifications/mail/mailer.js';
import { nameInMail } from '#notifications/mail/name-in-mail.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';
import { MailLimits } from './mail-limits.js';

/** How long an email is retried when no request waits for it. */
const PATIENCE_MS = 600_000;

/** Whether the link was emailed; null when email is off. */
export type Mailed = boolean | null;

/** Emails one-time links to their recipients. Links are never logged, nor stored for a later attempt. */
@Injectable()
export class LinkMails {
  private readonly host: string;

  constructor(
    private readonly mailer: Mailer,
    private readonly limits: MailLimits,
    config: ApiConfig,
  ) {
    this.host = new URL(publicUrlOf(config)).host;
  }

  /** Whether this installation sends mail. */
  get enabled(): boolean {
    return this.mailer.enabled;
  }

  /** Counts an email that an account is about to send. Throws AppError `rate_limit_exceeded`. */
  async admit(accountId: string, to: string): Promise<void> {
    if (this.enabled) await this.limits.admit(accountId, to);
  }

  async invite(to: string, accountName: string, link: string): Promise<Mailed> {
    const account = nameInMail(accountName);
    return await this.mail({
      to,
      subject: `Join ${account} on Darkroom`,
      paragraphs: [`You have been invited to join ${account} on Darkroom, the image service at ${this.host}.`],
      links: [{ label: 'Accept invitation', url: link }],
      footer: `The link works once and expires in ${LINK_HOURS} hours. If you did not expect this invitation, ignore this email.`,
    });
  }

  /** A reset link that an admin created for the user. */
  async resetPassword(to: string, link: string): Promise<Mailed> {
    return await this.mail({
      to,
      subject: 'Set a new Darkroom password',
      paragraphs: [
        `An owner or admin of your account created a link for you to set a new password for Darkroom at ${this.host}.`,
      ],
      links: [{ label: 'Set new password', url: link }],
      footer: `The link works once and expires in ${LINK_HOURS} hours. Your current password works until you use it.`,
    });
  }

  /** A reset link that the user requested; no request waits for it. Throws MailNotSent. */
  async forgotPassword(to: string, links: readonly { link: string; account: string }[]): Promise<void> {
    const several = links.length > 1;
    const mail = {
      to,
      subject: 'Reset your Darkroom password',
      paragraphs: [
        `Someone, probably you, asked to reset the password for ${to} at ${this.host}.` +
          (several ? ' You have more than one password here; choose which one to reset.' : ''),
      ],
      links: links.map(({ link, account }) => ({
        label: `Reset password${several ? ` for ${nameInMail(account)}` : ''}`,
        url: link,
      })),
      footer: `A link works once and expires in ${LINK_HOURS} hours. If you did not ask for this, ignore this email: nothing changes.`,
    };
    await this.mailer.send(mail, PATIENCE_MS);
  }

  /**
   * Tells the owner of a sign-in that it was changed, and who else may use it now; no request waits for it. Throws
   * MailNotSent.
   */
  async signInChanged(to: string, change: string, passkeys: readonly string[]): Promise<void> {
    if (!this.enabled) return;
    const kept =
      passkeys.length === 0
        ? []
        : [
            `These passkeys can sign in: ${passkeys.map((name) => nameInMail(name, 'one with another name')).join(', ')}.`,
          ];
    const mail = {
      to,
      subject: 'Your Darkroom sign-in was changed',
      paragraphs: [`For ${to} at ${this.host}: ${change}`, ...kept],
      footer:
        'If this was not you, set a new password at once: that signs out every browser. Then remove passkeys that you do not know in your profile, and tell an owner or admin.',
    };
    await this.mailer.send(mail, PATIENCE_MS);
  }

  private async mail(content: Parameters<Mailer['send']>[0]): Promise<Mailed> {
    if (!this.enabled) return null;
    try {
      await this.mailer.send(content);
      return true;
    } catch (error) {
      if (error instanceof MailNotSent) return false;
      throw error;
    }
  }
}
