import { Injectable } from '@nestjs/common';
import { AccountStore } from '#accounts/account-store.js';
import { PersonStore } from '#accounts/person-store.js';
import { Mailer, MailNotSent } from '#notifications/mail/mailer.js';
import { nameInMail } from '#notifications/mail/name-in-mail.js';
import { APPROVAL_HOURS } from '#tasks/admission/approval.js';
import { HeldTasks } from '#tasks/reading/held-tasks.js';
import { WorkerConfig } from '../worker.config.js';

/** An account's approvers get an email at most this often: six in an hour, however many requests wait. */
const MINUTES_APART = 10;

/** Tells those who may approve requests that some wait. At most one email is about a request. */
@Injectable()
export class MailApprovers {
  constructor(
    private readonly held: HeldTasks,
    private readonly accounts: AccountStore,
    private readonly people: PersonStore,
    private readonly mailer: Mailer,
    private readonly config: WorkerConfig,
  ) {}

  /** One round over all accounts in which requests wait. Throws when the database fails; the next round continues. */
  async run(): Promise<void> {
    if (!this.mailer.enabled) return;
    for (const id of await this.held.accountsToTell()) {
      // Only one worker takes the turn of an account.
      const account = await this.accounts.takeApprovalMail(id, MINUTES_APART * 60_000);
      if (account !== undefined && (await this.held.markTold(id)) > 0) await this.tell(id, account.name);
    }
  }

  private async tell(accountId: string, name: string): Promise<void> {
    const [{ count }, addresses] = await Promise.all([this.held.figures(accountId), this.people.approvers(accountId)]);
    if (count > 0) await Promise.all(addresses.map((to) => this.send(to, nameInMail(name), count)));
  }

  /** The mailer retries for a while, and logs what it could not send. */
  private async send(to: string, account: string, count: number): Promise<void> {
    const { publicUrl } = this.config;
    const requests = count === 1 ? 'A request waits' : `${count.toLocaleString('en')} requests wait`;
    const mail = {
      to,
      subject: `${requests} for your approval on Darkroom`,
      paragraphs: [
        `${requests} for approval in ${account} on Darkroom, because the price is above what needs none.`,
        `A request that nobody approves within ${APPROVAL_HOURS} hours fails, and is refunded.`,
      ],
      links: [{ label: 'Open approvals', url: `${publicUrl.replace(/\/+$/, '')}/console/approvals` }],
      footer: `Owners and admins of ${account} at ${new URL(publicUrl).host} get this email, at most every ${MINUTES_APART} minutes.`,
    };
    await this.mailer.send(mail).catch((error: unknown) => {
      if (!(error instanceof MailNotSent)) throw error;
    });
  }
}
