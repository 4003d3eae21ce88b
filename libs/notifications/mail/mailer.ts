import { Injectable, Optional, type OnApplicationShutdown } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { createTransport, type Transporter } from 'nodemailer';
import { isPlainAddress } from '#contract/text-rules.js';
import { Logger } from '#telemetry/logger.js';
import { MailConfig } from './mail.config.js';
import { helloName, smtpAddress } from './smtp-address.js';
import { writeMail, type MailContent } from './write-mail.js';

/** Timeout of one step of the SMTP conversation; the email as a whole has its own. */
const STEP_MS = 10_000;
/** Time limit of an email that a call waits for, with its retries; then it counts as not sent. Nobody waits for longer. */
const PATIENCE_MS = 15_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** The status that a server answers for a mailbox name that is not allowed. */
const NAME_NOT_ALLOWED = 553;
/** Transient failures: the server could not be reached, or the connection broke. */
const TRANSIENT = new Set(['ECONNECTION', 'ETIMEDOUT', 'ESOCKET', 'EDNS']);

/** The server did not accept an email. Never includes the content, the recipient, or the server's text. */
export class MailNotSent extends Error {
  override readonly name = 'MailNotSent';

  constructor(
    /** nodemailer's code, such as EAUTH, or `off` when no server is configured. */
    readonly code: string,
    /** The server's reply code, 400 to 599, if there was one; 553 without asking it for an address that is not plain. */
    readonly status?: number,
  ) {
    super(`The SMTP server did not take the email (${status === undefined ? code : `${code}, status ${status}`}).`);
  }
}

/** Sends email through the configured SMTP server. */
@Injectable()
export class Mailer implements OnApplicationShutdown {
  private readonly transport: Transporter | undefined;
  private readonly sending = new Set<AbortController>();

  constructor(
    private readonly config: MailConfig,
    private readonly logger: Logger,
    @Optional() private readonly patienceMs: number = PATIENCE_MS,
  ) {
    this.transport = config.smtpUrl === undefined ? undefined : transportOf(config, config.smtpUrl);
  }

  /** Whether this installation sends email. */
  get enabled(): boolean {
    return this.transport !== undefined;
  }

  /**
   * Resolves once the server has accepted the email. Transient failures are retried with backoff for `patienceMs`.
   * Throws MailNotSent, and logs it.
   */
  async send(content: MailContent, patienceMs = this.patienceMs): Promise<void> {
    const failure = await this.sendWithin(content, patienceMs);
    if (failure !== undefined) throw this.logged(failure);
  }

  /**
   * A single attempt, for callers with their own retries; `stopping` aborts it. An attempt that exceeds `timeoutMs`
   * fails with the code ETIMEDOUT. Throws MailNotSent, and logs it.
   */
  async sendOnce(content: MailContent, timeoutMs: number, stopping: AbortSignal): Promise<void> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), timeoutMs);
    const failure = await this.attempt(content, AbortSignal.any([stopping, late.signal]));
    clearTimeout(timer);
    if (failure !== undefined) throw this.logged(late.signal.aborted ? new MailNotSent('ETIMEDOUT') : failure);
  }

  /** Connects and signs in without sending anything. Throws MailNotSent. */
  async check(): Promise<void> {
    try {
      await this.server().verify();
    } catch (error) {
      throw notSent(error);
    }
  }

  /** Ends all pending sends, so that their callers learn that the email was not sent. */
  onApplicationShutdown(): void {
    for (const one of this.sending) one.abort();
  }

  private logged(failure: MailNotSent): MailNotSent {
    const { code, status } = failure;
    this.logger.warn('mail.not_sent', { code, ...(status !== undefined && { status }) });
    return failure;
  }

  private async sendWithin(content: MailContent, patienceMs: number): Promise<MailNotSent | undefined> {
    const limit = new AbortController();
    const until = Date.now() + patienceMs;
    const timer = setTimeout(() => limit.abort(), patienceMs);
    this.sending.add(limit);
    let earlier: MailNotSent | undefined;
    try {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
        const failure = await this.attempt(content, limit.signal);
        // Why the server refused says more than that the next attempt was cut off.
        if (failure !== undefined && limit.signal.aborted) return earlier ?? failure;
        if (failure === undefined || !isPassing(failure) || Date.now() + pauseMs > until) return failure;
        earlier = failure;
        await pause(pauseMs, undefined, { signal: limit.signal }).catch(() => undefined);
        if (limit.signal.aborted) return failure;
      }
    } finally {
      clearTimeout(timer);
      this.sending.delete(limit);
    }
  }

  private async attempt(content: MailContent, signal: AbortSignal): Promise<MailNotSent | undefined> {
    const from = this.config.mailFrom;
    // A provider may have vouched for others, such as <kim@example.org>, which would reach another mailbox.
    if (!isPlainAddress(content.to)) return new MailNotSent('EENVELOPE', NAME_NOT_ALLOWED);
    const messageId = content.id === undefined ? undefined : `<${content.id}@${domainOf(from)}>`;
    try {
      // As an object, the address is not parsed again.
      const to = { name: '', address: content.to };
      await this.server().sendMail({ ...writeMail(content), to, from, messageId, signal });
      return undefined;
    } catch (error) {
      return notSent(error);
    }
  }

  private server(): Transporter {
    if (this.transport === undefined) throw new MailNotSent('off');
    return this.transport;
  }
}

/** The name that this process introduces itself by to the SMTP server; undefined for an address in its place. */
export function introducedAs({ smtpUrl, mailFrom }: MailConfig, machine = hostname()): string | undefined {
  return smtpUrl === undefined ? undefined : helloName(smtpAddress(smtpUrl), machine, domainOf(mailFrom));
}

function transportOf(config: MailConfig, url: string): Transporter {
  const { smtpCaFile, smtpRequireTls } = config;
  const { host, port, secure, user, password } = smtpAddress(url);
  const name = introducedAs(config);
  return createTransport({
    ...(name !== undefined && { name }),
    host,
    port,
    secure,
    requireTLS: smtpRequireTls && !secure,
    ...(user !== '' && { auth: { user, pass: password } }),
    ...(smtpCaFile !== undefined && { tls: { ca: readFileSync(smtpCaFile) } }),
    connectionTimeout: STEP_MS,
    greetingTimeout: STEP_MS,
    socketTimeout: STEP_MS,
    dnsTimeout: STEP_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** The domain of the sender, which may include a display name. */
function domainOf(sender = ''): string {
  return sender.slice(sender.lastIndexOf('@') + 1).replace('>', '');
}

function isPassing({ code, status }: MailNotSent): boolean {
  return status === undefined ? TRANSIENT.has(code) : status < 500;
}

function notSent(error: unknown): MailNotSent {
  if (error instanceof MailNotSent) return error;
  const { code, responseCode } = error as { readonly code?: unknown; readonly responseCode?: unknown };
  const status = typeof responseCode === 'number' && responseCode >= 400 ? responseCode : undefined;
  return new MailNotSent(typeof code === 'string' ? code : 'failed', status);
}
