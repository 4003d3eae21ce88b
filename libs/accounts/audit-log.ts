import { encodeTime, monotonicFactory } from 'ulid';
import type { Queryable } from '#database/queryable.js';
import type { AuditAction } from './audit-actions.js';

/** One change may be several entries of the same millisecond; they keep their order. */
const nextId = monotonicFactory();

/** Something that somebody did. */
export interface Deed {
  readonly accountId: string;
  /** Null when nobody of the account did it; a command says `via: 'command'` in the details. */
  readonly personId: string | null;
  readonly action: AuditAction;
  readonly target?: string;
  /** Enough to tell it later, names of that time among it; never a secret. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** A deed as it is shown. */
export interface AuditEntry {
  readonly id: string;
  /** Null when no member of the account did it. */
  readonly person: { readonly id: string; readonly name: string; readonly email: string } | null;
  /** An AuditAction of this version, or of another. */
  readonly action: string;
  readonly target: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly hasMore: boolean;
}

export interface AuditQuery {
  /** Id of the last entry of the page before. */
  readonly after?: string | undefined;
  /** Id of a person, or NOBODY. */
  readonly who?: string | undefined;
  readonly actions?: readonly string[] | undefined;
  readonly limit: number;
}

/** Stands for whoever is nobody of the account. */
export const NOBODY = 'nobody';

/** Who did what; only ever added to. */
export class AuditLog {
  constructor(private readonly database: Queryable) {}

  async write({ accountId, personId, action, target, details = {} }: Deed): Promise<void> {
    await this.database.query(
      `INSERT INTO audit_log (id, account_id, person_id, action, target, details) VALUES ($1, $2, $3, $4, $5, $6)`,
      [`audit_${nextId()}`, accountId, personId, action, target ?? null, JSON.stringify(details)],
    );
  }

  /** Like `write`, but not when the same was done to the same target within the last `quietMs`. */
  async writeSeldom({ accountId, personId, action, target, details = {} }: Deed, quietMs: number): Promise<void> {
    await this.database.query(
      `INSERT INTO audit_log (id, account_id, person_id, action, target, details) SELECT $1, $2, $3, $4, $5, $6
       WHERE NOT EXISTS (SELECT 1 FROM audit_log
         WHERE account_id = $2 AND id > $7 AND action = $4 AND target IS NOT DISTINCT FROM $5)`,
      [
        ...[`audit_${nextId()}`, accountId, personId, action, target ?? null, JSON.stringify(details)],
        `audit_${encodeTime(Date.now() - quietMs)}`,
      ],
    );
  }

  /** One page of an account's entries, newest first. */
  async list(accountId: string, { after, who, actions, limit }: AuditQuery): Promise<AuditPage> {
    const { rows } = await this.database.query<AuditEntry>(
      `SELECT audit_log.id, action, target, details, audit_log.created_at AS "createdAt",
         CASE WHEN people.id IS NOT NULL
           THEN json_build_object('id', people.id, 'name', people.name, 'email', people.email) END AS person
       FROM audit_log LEFT JOIN people ON people.id = person_id
       WHERE audit_log.account_id = $1 AND ($2::text IS NULL OR audit_log.id < $2)
         AND ($3::text IS NULL OR COALESCE(person_id, '${NOBODY}') = $3)
         AND ($4::text[] IS NULL OR action = ANY ($4))
       ORDER BY audit_log.id DESC LIMIT $5`,
      [accountId, after ?? null, who ?? null, actions ?? null, limit + 1],
    );
    return { entries: rows.slice(0, limit), hasMore: rows.length > limit };
  }
}
