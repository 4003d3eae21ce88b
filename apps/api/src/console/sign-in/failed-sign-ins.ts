import { Injectable } from '@nestjs/common';
import type { AuditAction } from '#accounts/audit-actions.js';
import { AuditLog } from '#accounts/audit-log.js';
import type { Person } from '#accounts/person-store.js';
import { Logger } from '#telemetry/logger.js';

/** Failed attempts on one user within this time make one entry, so that an attack does not fill the log. */
const QUIET_MS = 900_000;

/** Records failed sign-ins in the account's audit log. */
@Injectable()
export class FailedSignIns {
  constructor(
    private readonly audit: AuditLog,
    private readonly logger: Logger,
  ) {}

  /** Never fails, and returns at once: a known email address must be rejected as fast as an unknown one. */
  note(
    { id, accountId, name, email }: Pick<Person, 'id' | 'accountId' | 'name' | 'email'>,
    action: AuditAction = 'person.sign_in_failed',
  ): void {
    const details = { name, email };
    this.audit
      .writeOncePer({ accountId, personId: null, action, target: id, details }, QUIET_MS)
      .catch((error: unknown) => this.logger.warn('audit.not_written', { error }));
  }
}
