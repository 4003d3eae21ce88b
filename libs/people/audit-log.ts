import { ulid } from 'ulid';
import type { Queryable } from '#database/queryable.js';

/** Something that somebody did. */
interface Deed {
  readonly accountId: string;
  readonly personId: string | null;
  /** Noun and verb, such as `key.revoked`. */
  readonly action: string;
  readonly target?: string;
  /** Never a secret. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Who did what; only ever added to. */
export class AuditLog {
  constructor(private readonly database: Queryable) {}

  async write({ accountId, personId, action, target, details = {} }: Deed): Promise<void> {
    await this.database.query(
      `INSERT INTO audit_log (id, account_id, person_id, action, target, details) VALUES ($1, $2, $3, $4, $5, $6)`,
      [`audit_${ulid()}`, accountId, personId, action, target ?? null, JSON.stringify(details)],
    );
  }
}
