import { Injectable } from '@nestjs/common';
import type { AuditAction } from '#accounts/audit-actions.js';
import { AuditLog } from '#accounts/audit-log.js';
import type { Person } from '#accounts/person-store.js';
import { Logger } from '#telemetry/logger.js';

/** Of one person, as many guesses as come within this time are one entry: a log that guessers fill is read by nobody. */
const QUIET_MS = 900_000;

/** Tells an account's admins that somebody guesses at a password or a code. */
@Injectable()
export class FailedSignIns {
  constructor(
    private readonly audit: AuditLog,
    private readonly logger: Logger,
  ) {}

  /** Never fails, and takes no time: a known address must be refused as fast as an unknown one. */
  note(
    { id, accountId, name, email }: Pick<Person, 'id' | 'accountId' | 'name' | 'email'>,
    action: AuditAction = 'person.sign_in_failed',
  ): void {
    const details = { name, email };
    this.audit
      .writeSeldom({ accountId, personId: null, action, target: id, details }, QUIET_MS)
      .catch((error: unknown) => this.logger.warn('audit.not_written', { error }));
  }
}
