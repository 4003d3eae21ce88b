import { ulid } from 'ulid';
import type { Queryable } from '#database/queryable.js';
import { hashToken } from './tokens.js';

export const ROLES = ['admin', 'member'] as const;
export type Role = (typeof ROLES)[number];

export interface Person {
  readonly id: string;
  readonly accountId: string;
  /** In lower case. */
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly createdAt: Date;
  /** To the minute; null = never signed in. */
  readonly seenAt: Date | null;
  readonly disabledAt: Date | null;
  /** Whether they sign in with a password. */
  readonly hasPassword: boolean;
}

/** What others may change of somebody. */
interface PersonChange {
  readonly role?: Role | undefined;
  readonly disabled?: boolean | undefined;
}

/** Who a link makes. */
interface NewPerson {
  /** Null: as the link says. */
  readonly email: string | null;
  readonly name: string;
  readonly passwordHash: string;
}

const COLUMNS = `id, account_id AS "accountId", email, name, role, created_at AS "createdAt",
  seen_at AS "seenAt", disabled_at AS "disabledAt", password_hash IS NOT NULL AS "hasPassword"`;
const UNIQUE_VIOLATION = '23505';

/** The people of the console. */
export class PersonStore {
  constructor(
    private readonly database: Queryable,
    private readonly secretKey: string,
  ) {}

  /** Whether somebody is the first admin already. */
  async hasFounder(): Promise<boolean> {
    const { rows } = await this.database.query('SELECT 1 FROM people WHERE founder');
    return rows.length > 0;
  }

  /** Uses up a `first_admin` link; undefined when it can't be used, or when somebody else was first. */
  async createFounder(token: string, { email, name, passwordHash }: NewPerson): Promise<Person | undefined> {
    return await this.insert(
      `WITH link AS (
         UPDATE sign_in_links SET used_at = now()
         WHERE token_hash = $1 AND purpose = 'first_admin' AND used_at IS NULL AND expires_at > now()
           AND NOT EXISTS (SELECT 1 FROM people WHERE founder)
         RETURNING account_id)
       INSERT INTO people (id, account_id, email, name, password_hash, role, founder)
       SELECT $2, account_id, $3, $4, $5, 'admin', true FROM link RETURNING ${COLUMNS}`,
      [hashToken(this.secretKey, 'link', token), newPersonId(), email, name, passwordHash],
    );
  }

  /** Uses up an `invite` link; undefined when it can't be used, or when its e-mail address is taken. */
  async createInvited(token: string, { name, passwordHash }: NewPerson): Promise<Person | undefined> {
    return await this.insert(
      `WITH link AS (
         UPDATE sign_in_links SET used_at = now()
         WHERE token_hash = $1 AND purpose = 'invite' AND used_at IS NULL AND expires_at > now() AND email IS NOT NULL
           AND EXISTS (SELECT 1 FROM accounts WHERE accounts.id = account_id AND disabled_at IS NULL)
         RETURNING account_id, email, role)
       INSERT INTO people (id, account_id, email, name, password_hash, role)
       SELECT $2, account_id, email, $3, $4, role FROM link RETURNING ${COLUMNS}`,
      [hashToken(this.secretKey, 'link', token), newPersonId(), name, passwordHash],
    );
  }

  /** Uses up a `password` link and ends all sessions of its person; undefined when it can't be used. */
  async resetPassword(token: string, passwordHash: string): Promise<Person | undefined> {
    const { rows } = await this.database.query<Person>(
      `WITH link AS (
         UPDATE sign_in_links SET used_at = now()
         WHERE token_hash = $1 AND purpose = 'password' AND used_at IS NULL AND expires_at > now()
         RETURNING email),
       changed AS (
         UPDATE people SET password_hash = $2 FROM link WHERE people.email = link.email RETURNING people.*),
       ended AS (DELETE FROM sessions USING changed WHERE sessions.person_id = changed.id)
       SELECT ${COLUMNS} FROM changed`,
      [hashToken(this.secretKey, 'link', token), passwordHash],
    );
    return rows[0];
  }

  /** Sets a password and ends all sessions of its person but one. */
  async changePassword(personId: string, passwordHash: string, sessionToKeep: string): Promise<void> {
    await this.database.query(
      `WITH changed AS (UPDATE people SET password_hash = $2 WHERE id = $1)
       DELETE FROM sessions WHERE person_id = $1 AND id <> $3`,
      [personId, passwordHash, sessionToKeep],
    );
  }

  /** Who signs in with an e-mail address, in lower case, and the hash of the password. */
  async forSignIn(email: string): Promise<(Person & { passwordHash: string | null }) | undefined> {
    const { rows } = await this.database.query<Person & { passwordHash: string | null }>(
      `SELECT ${COLUMNS}, password_hash AS "passwordHash" FROM people WHERE email = $1`,
      [email],
    );
    return rows[0];
  }

  /** Everyone of an account, or of all accounts, oldest first. */
  async list(accountId?: string): Promise<Person[]> {
    const { rows } = await this.database.query<Person>(
      `SELECT ${COLUMNS} FROM people WHERE $1::text IS NULL OR account_id = $1 ORDER BY created_at, id`,
      [accountId ?? null],
    );
    return rows;
  }

  /** A person of an account; undefined when it has no such person. */
  async find(accountId: string, id: string): Promise<Person | undefined> {
    const { rows } = await this.database.query<Person>(
      `SELECT ${COLUMNS} FROM people WHERE id = $1 AND account_id = $2`,
      [id, accountId],
    );
    return rows[0];
  }

  /**
   * Changes a person of an account, and ends their sessions when they are disabled. Nobody is changed when the account
   * would be left without an admin. Admins are locked, in one order, before they are counted: of two who take each
   * other's rights at once, the second finds the first one's change.
   */
  async change(accountId: string, id: string, { role, disabled }: PersonChange): Promise<Person | 'unknown' | 'last'> {
    const { rows } = await this.database.query<Person>(
      `WITH admins AS MATERIALIZED (
         SELECT id FROM people WHERE account_id = $2 AND role = 'admin' AND disabled_at IS NULL ORDER BY id FOR UPDATE),
       changed AS (
         UPDATE people SET role = COALESCE($3, role),
           disabled_at = CASE WHEN $4 THEN COALESCE(disabled_at, now()) WHEN NOT $4 THEN NULL ELSE disabled_at END
         WHERE id = $1 AND account_id = $2
           AND (NOT $5 OR (SELECT count(*) FROM admins WHERE admins.id <> $1) > 0)
         RETURNING people.*),
       ended AS (DELETE FROM sessions USING changed WHERE $4 AND person_id = changed.id)
       SELECT ${COLUMNS} FROM changed`,
      [id, accountId, role ?? null, disabled ?? null, role === 'member' || disabled === true],
    );
    return rows[0] ?? ((await this.find(accountId, id)) === undefined ? 'unknown' : 'last');
  }

  /** Changes somebody's name. */
  async rename(accountId: string, id: string, name: string): Promise<void> {
    await this.database.query('UPDATE people SET name = $3 WHERE id = $1 AND account_id = $2', [id, accountId, name]);
  }

  /** Ends all sessions of a person of an account. */
  async signOut(accountId: string, id: string): Promise<void> {
    await this.database.query(
      'DELETE FROM sessions USING people WHERE people.id = person_id AND person_id = $1 AND account_id = $2',
      [id, accountId],
    );
  }

  private async insert(statement: string, values: unknown[]): Promise<Person | undefined> {
    try {
      return (await this.database.query<Person>(statement, values)).rows[0];
    } catch (error) {
      // The whole statement is undone: the link stays as it was.
      if ((error as { code?: unknown }).code === UNIQUE_VIOLATION) return undefined;
      throw error;
    }
  }
}

function newPersonId(): string {
  return `person_${ulid()}`;
}
