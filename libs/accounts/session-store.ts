import { ulid } from 'ulid';
import type { Queryable } from '#database/queryable.js';
import type { Role } from './person-store.js';
import { hashToken, newToken, tokenHashes, type TokenSecrets } from './tokens.js';

/** A session ends this long after its last request, and this long after its sign-in, whichever is first. */
const IDLE = '12 hours';
export const MAX_AGE_DAYS = 7;
/** The time of the last request is kept to the minute. */
const TOUCH = '1 minute';
const MAX_USER_AGENT = 200;

/** Who a request of the console is made by. */
export interface Session {
  readonly id: string;
  readonly personId: string;
  readonly accountId: string;
  readonly accountName: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  /** What the person may sign in with. */
  readonly hasPassword: boolean;
  readonly hasIdentity: boolean;
}

export interface SessionRow {
  readonly id: string;
  readonly userAgent: string;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
}

/** Sessions that are not over, in SQL. */
export const SESSION_ALIVE = `sessions.expires_at > now() AND sessions.last_seen_at > now() - interval '${IDLE}'`;

/** Browsers that are signed in. */
export class SessionStore {
  constructor(
    private readonly database: Queryable,
    private readonly secrets: TokenSecrets,
  ) {}

  /** Begins a session; the token is for the cookie alone. Sessions of the person that are over are removed. */
  async begin(personId: string, userAgent: string): Promise<{ id: string; token: string }> {
    const [id, token] = [`session_${ulid()}`, newToken()];
    await this.database.query(
      `WITH over AS (DELETE FROM sessions WHERE person_id = $2 AND NOT (${SESSION_ALIVE})),
       seen AS (UPDATE people SET seen_at = now() WHERE id = $2)
       INSERT INTO sessions (id, person_id, token_hash, user_agent, expires_at)
       VALUES ($1, $2, $3, $4, now() + interval '${MAX_AGE_DAYS} days')`,
      [
        id,
        personId,
        hashToken(this.secrets.secretKey, 'session', token),
        userAgent.replaceAll('\u0000', '').slice(0, MAX_USER_AGENT),
      ],
    );
    return { id, token };
  }

  /** The session behind a cookie; undefined when it is over, unknown, or its person may not come in. */
  async find(token: string): Promise<Session | undefined> {
    const { rows } = await this.database.query<Session & { stale: boolean }>(
      `SELECT sessions.id, person_id AS "personId", account_id AS "accountId", accounts.name AS "accountName",
         email, people.name, role, password_hash IS NOT NULL AS "hasPassword",
         openid_subject IS NOT NULL AS "hasIdentity", last_seen_at < now() - interval '${TOUCH}' AS stale
       FROM sessions JOIN people ON people.id = person_id JOIN accounts ON accounts.id = account_id
       WHERE token_hash = ANY($1) AND ${SESSION_ALIVE} AND people.disabled_at IS NULL AND accounts.disabled_at IS NULL`,
      [tokenHashes(this.secrets, 'session', token)],
    );
    if (rows[0] === undefined) return undefined;
    const { stale, ...session } = rows[0];
    if (stale) await this.touch(session);
    return session;
  }

  /** The sessions of a person that are alive, newest first. */
  async list(personId: string): Promise<SessionRow[]> {
    const { rows } = await this.database.query<SessionRow>(
      `SELECT id, user_agent AS "userAgent", created_at AS "createdAt", last_seen_at AS "lastSeenAt"
       FROM sessions WHERE person_id = $1 AND ${SESSION_ALIVE} ORDER BY created_at DESC, id DESC`,
      [personId],
    );
    return rows;
  }

  /** Ends a session of a person; false when they have no such session. */
  async end(personId: string, id: string): Promise<boolean> {
    const result = await this.database.query('DELETE FROM sessions WHERE id = $1 AND person_id = $2', [id, personId]);
    return result.rowCount === 1;
  }

  private async touch({ id, personId }: Session): Promise<void> {
    await this.database.query(
      `WITH seen AS (UPDATE people SET seen_at = now() WHERE id = $2)
       UPDATE sessions SET last_seen_at = now() WHERE id = $1`,
      [id, personId],
    );
  }
}
