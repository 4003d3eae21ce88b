import { Injectable } from '@nestjs/common';
import type { AlertMessage } from '#contract/alert-message.js';
import { MailNotSent, Mailer } from '#mail/mailer.js';
import type { AttemptResult } from '#webhooks/next-step.js';
import { WorkerConfig } from '../worker.config.js';
import { AlertMailLimits } from './alert-mail-limits.js';

/** Reply code of an SMTP server that accepted an email. */
const TAKEN = 250;
/** nodemailer's codes for a rejected recipient or message: after a 5xx reply, retries are pointless. */
const REFUSED: ReadonlySet<string> = new Set(['EENVELOPE', 'EMESSAGE']);

/** `[Resolved: ]Key <name> has used 82% of its budget`; the last `has used` is ours, whatever the name contains. */
const KEY_TITLE = /^(Resolved: )?Key .* has used /su;

/** Who sends an email to whom. */
interface Recipient {
  readonly accountId: string;
  readonly address: string;
}

/** Timeout of an email in ms, and the signal that aborts it. */
interface AttemptLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Sends alerts by email. */
@Injectable()
export class AlertMails {
  constructor(
    private readonly mailer: Mailer,
    private readonly limits: AlertMailLimits,
    private readonly config: WorkerConfig,
  ) {}

  /** Sends an alert once. Returns failures as results, as webhook attempts do. */
  async send(
    { accountId, address: to }: Recipient,
    { id, data }: AlertMessage,
    { timeoutMs, signal }: AttemptLimits,
  ): Promise<AttemptResult> {
    if (this.mailer.enabled && !(await this.limits.admit(accountId, to))) return { error: 'email_limit' };
    const mail = {
      // The address is not confirmed, so subjects contain no text that the account chose.
      id,
      to,
      subject: data.title.replace(KEY_TITLE, '$1A key has used '),
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

function resultOf({ code, status }: MailNotSent): AttemptResult {
  if (status !== undefined) return { status, permanent: status >= 500 && REFUSED.has(code) };
  if (code === 'off') return { error: 'email_disabled' };
  return { error: code === 'ETIMEDOUT' ? 'timeout' : 'unreachable' };
}
