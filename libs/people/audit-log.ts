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

/** A deed as it is shown. */
export interface AuditEntry {
  readonly id: string;
  /** Null when nobody signed in did it. */
  readonly person: { readonly id: string; readonly name: string; readonly email: string } | null;
  readonly action: string;
  readonly target: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly hasMore: boolean;
}

interface AuditQuery {
  /** Id of the last entry of the page before. */
  readonly after?: string | undefined;
  /** Id of a person. */
  readonly who?: string | undefined;
  /** How the action begins. */
  readonly what?: string | undefined;
}

const PAGE = 50;

/** Who did what; only ever added to. */
export class AuditLog {
  constructor(private readonly database: Queryable) {}

  async write({ accountId, personId, action, target, details = {} }: Deed): Promise<void> {
    await this.database.query(
      `INSERT INTO audit_log (id, account_id, person_id, action, target, details) VALUES ($1, $2, $3, $4, $5, $6)`,
      [`audit_${ulid()}`, accountId, personId, action, target ?? null, JSON.stringify(details)],
    );
  }

  /** One page of an account's entries, newest first. */
  async list(accountId: string, { after, who, what }: AuditQuery): Promise<AuditPage> {
    const { rows } = await this.database.query<AuditEntry>(
      `SELECT audit_log.id, action, target, details, audit_log.created_at AS "createdAt",
         CASE WHEN people.id IS NOT NULL
           THEN json_build_object('id', people.id, 'name', people.name, 'email', people.email) END AS person
       FROM audit_log LEFT JOIN people ON people.id = person_id
       WHERE audit_log.account_id = $1 AND ($2::text IS NULL OR audit_log.id < $2)
         AND ($3::text IS NULL OR person_id = $3) AND ($4::text IS NULL OR starts_with(action, $4))
       ORDER BY audit_log.id DESC LIMIT ${PAGE + 1}`,
      [accountId, after ?? null, who ?? null, what ?? null],
    );
    return { entries: rows.slice(0, PAGE), hasMore: rows.length > PAGE };
  }
}
