import { Injectable } from '@nestjs/common';
import { AuditLog } from '#accounts/audit-log.js';
import { PasskeyStore } from '#accounts/passkey-store.js';
import type { Person } from '#accounts/person-store.js';
import type { Session } from '#accounts/session-store.js';
import { MailNotSent } from '#notifications/mail/mailer.js';
import { Logger } from '#telemetry/logger.js';
import { LinkMails } from './link-mails.js';

/** What the mail says of each change, after whose sign-in it is. */
const CHANGES = {
  'person.changed_password': 'the password was changed, and all other browsers were signed out.',
  'person.reset_password': 'a new password was set with a link, and all browsers were signed out.',
  'person.reset_sign_in':
    'the sign-in was set up anew with a link: the password, two-factor authentication and passkeys were removed, and all browsers were signed out.',
  'person.second_factor_added': 'two-factor authentication was turned on.',
  'person.second_factor_removed': 'two-factor authentication was turned off.',
  'person.recovery_codes_renewed': 'new recovery codes were created; earlier ones stopped working.',
  'person.passkey_added': 'a passkey was added.',
  'person.passkey_removed': 'a passkey was removed.',
  'person.second_factor_reset': 'an owner or admin removed two-factor authentication and all passkeys.',
} as const;

/** Mails being sent by one process: each may be retried for minutes. */
const MAX_AT_ONCE = 100;

/** Records changes of how a user signs in, and tells the user by email, so that no change goes unnoticed. */
@Injectable()
export class SignInChanges {
  private underWay = 0;

  constructor(
    private readonly audit: AuditLog,
    private readonly passkeys: PasskeyStore,
    private readonly mails: LinkMails,
    private readonly logger: Logger,
  ) {}

  /** Records a change that the user made in a session, and tells them. */
  async record(session: Session, action: keyof typeof CHANGES, target: string, details: object = {}): Promise<void> {
    this.tell(session, action);
    await this.audit.record(session, action, target, details);
  }

  /** Returns at once: a mail server that is slow or away holds up no change. */
  tell({ email, signInId }: Pick<Person, 'email' | 'signInId'>, action: keyof typeof CHANGES): void {
    if (!this.mails.enabled) return;
    if (this.underWay >= MAX_AT_ONCE) {
      this.logger.warn('mail.not_sent', { error: new Error('too many mails are being sent') });
      return;
    }
    this.underWay += 1;
    void this.mail(email, signInId, action)
      // The mailer has logged its own failures.
      .catch((error: unknown) => {
        if (!(error instanceof MailNotSent)) this.logger.warn('mail.not_sent', { error });
      })
      .finally(() => (this.underWay -= 1));
  }

  private async mail(email: string, signInId: string, action: keyof typeof CHANGES): Promise<void> {
    const passkeys = await this.passkeys.list(signInId);
    const names = passkeys.map(({ name }) => name);
    await this.mails.signInChanged(email, CHANGES[action], names);
  }
}
