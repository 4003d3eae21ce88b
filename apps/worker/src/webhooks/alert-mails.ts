import { Injectable } from '@nestjs/common';
import { mailboxOf } from '#accounts/person-rules.js';
import { AppError } from '#contract/app-error.js';
import type { AlertMessage } from '#contract/alert-message.js';
import { AttemptLimiter, hashed } from '#limits/attempt-limiter.js';
import { MailNotSent, Mailer } from '#notifications/mail/mailer.js';
import type { AttemptResult } from '#notifications/deliveries/next-step.js';
import { WorkerConfig } from '../worker.config.js';

/** Length of a window of the limits below. */
export const ALERT_MAIL_SECONDS = 3_600;
/** Emails in an hour: from an account to one address, to one address from all accounts, and from an account. */
const PER_RECIPIENT = 10;
/** Three times the first, so that no account silences the alerts of another to the same address. */
const PER_MAILBOX = 30;
const PER_ACCOUNT = 100;

/** Reply code of an SMTP server that accepted an email. */
const TAKEN = 250;
/** nodemailer's codes for a rejected recipient or message: after a 5xx reply, retries are pointless. */
const REFUSED: ReadonlySet<string> = new Set(['EENVELOPE', 'EMESSAGE']);

/** `[Resolved: ]Key <name> has used 82% of its budget`; the last `has used` is ours, whatever the name contains. */
const KEY_TITLE = /^(Resolved: )?Key .* has used /su;

/** `[Resolved: ]Webhook endpoint <address> is failing`. */
const WEBHOOK_TITLE = /^(Resolved: )?Webhook endpoint \S* is failing$/u;

/** Who sends an email to whom. */
interface Recipient {
  readonly accountId: string;
  readonly address: string;
}

/** Timeout of an email in ms, and the signal that aborts it. */
interface SendOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Sends alerts by email. */
@Injectable()
export class AlertMails {
  constructor(
    private readonly mailer: Mailer,
    private readonly limits: AttemptLimiter,
    private readonly config: WorkerConfig,
  ) {}

  /** Sends an alert once. Returns failures as results, as webhook attempts do. */
  async send(
    { accountId, address: to }: Recipient,
    { id, data }: AlertMessage,
    { timeoutMs, signal }: SendOptions,
  ): Promise<AttemptResult> {
    if (this.mailer.enabled && !(await admitAlertMail(this.limits, accountId, to))) return { error: 'email_limit' };
    const mail = {
      // The address is not confirmed, so subjects contain no text that the account chose.
      id,
      to,
      subject: data.title
        .replace(KEY_TITLE, '$1A key has used ')
        .replace(WEBHOOK_TITLE, '$1A webhook endpoint is failing'),
      paragraphs: [data.title, data.text],
      links: [{ label: 'Open in Darkroom', url: data.url }],
      footer: `An admin of Darkroom at ${new URL(this.config.publicUrl).host} added this address under Alerts. Ask them to remove it if you no longer want these emails.`,
    };
    try {
      await this.mailer.sendOnce(mail, timeoutMs, signal);
      return { status: TAKEN };
    } catch (error) {
      if (signal.aborted) return { error: 'interrupted' };
      if (error instanceof MailNotSent) return resultOf(error);
      throw error;
    }
  }
}

/**
 * Counts an email, so that no mailbox is flooded: channels take any address. False above a limit; what one limit stops
 * does not count in the next.
 */
export async function admitAlertMail(limits: AttemptLimiter, accountId: string, address: string): Promise<boolean> {
  const mailbox = hashed(mailboxOf(address));
  try {
    await limits.admit(`alert:to:${mailbox}:${accountId}`, PER_RECIPIENT);
    await limits.admit(`alert:to:${mailbox}`, PER_MAILBOX);
    await limits.admit(`alert:account:${accountId}`, PER_ACCOUNT);
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

function resultOf({ code, status }: MailNotSent): AttemptResult {
  if (status !== undefined) return { status, permanent: status >= 500 && REFUSED.has(code) };
  if (code === 'off') return { error: 'email_disabled' };
  return { error: code === 'ETIMEDOUT' ? 'timeout' : 'unreachable' };
}
