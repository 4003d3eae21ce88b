import { ulid } from 'ulid';
import type { Queryable } from '#database/queryable.js';
import type { Identity } from './openid-provider.js';
import { tokenHashes, type TokenSecrets } from './tokens.js';

export const ROLES = ['admin', 'member'] as const;
export type Role = (typeof ROLES)[number];

export interface Person {
  readonly id: string;
  readonly accountId: string;
  /** As `storedEmailOf` spells it; one of an account's people has it at most. */
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly createdAt: Date;
  /** To the minute; null = never signed in. */
  readonly seenAt: Date | null;
  readonly disabledAt: Date | null;
  /** Whether they sign in with a password. */
  readonly hasPassword: boolean;
  /** Whether they sign in with the OpenID Connect provider. */
  readonly hasIdentity: boolean;
}

/** What others may change of somebody. */
interface PersonChange {
  readonly role?: Role | undefined;
  readonly disabled?: boolean | undefined;
}

/** What somebody signs in with: a password, or who they are at the provider. */
export type Credential =
  | { readonly passwordHash: string; readonly identity?: undefined; readonly vouchedEmail?: undefined }
  | {
      readonly identity: Identity;
      /** The address that the provider has verified, if it has. */
      readonly vouchedEmail?: string | undefined;
      readonly passwordHash?: undefined;
    };

/** Who a link makes. */
type NewPerson = Credential & {
  /** Null: as the link says. */
  readonly email: string | null;
  readonly name: string;
};

/** A person who signs in with a password. */
export type WithPassword = Person & { readonly passwordHash: string };

/** Columns of `people` that make a Person. */
export const PERSON_COLUMNS = `id, account_id AS "accountId", email, name, role, created_at AS "createdAt",
  seen_at AS "seenAt", disabled_at AS "disabledAt", password_hash IS NOT NULL AS "hasPassword",
  openid_subject IS NOT NULL AS "hasIdentity"`;
const UNIQUE_VIOLATION = '23505';
/** Accounts in which one address is looked up. */
const MAX_NAMESAKES = 100;

/** The people of the console. */
export class PersonStore {
  constructor(
    private readonly database: Queryable,
    private readonly secrets: TokenSecrets,
  ) {}

  /** Whether somebody is the first admin already. */
  async hasFounder(): Promise<boolean> {
    const { rows } = await this.database.query('SELECT 1 FROM people WHERE founder');
    return rows.length > 0;
  }

  /** Uses up a `first_admin` link; undefined when it can't be used, or when somebody else was first. */
  async createFounder(token: string, { email, name, ...credential }: NewPerson): Promise<Person | undefined> {
    return await writePerson(
      this.database,
      `WITH link AS (
         UPDATE sign_in_links SET used_at = now()
         WHERE token_hash = ANY($1) AND purpose = 'first_admin' AND used_at IS NULL AND expires_at > now()
           AND NOT EXISTS (SELECT 1 FROM people WHERE founder)
         RETURNING account_id)
       INSERT INTO people (id, account_id, email, name, role, founder, password_hash, openid_issuer, openid_subject,
         email_verified_at)
       SELECT $2, account_id, $3, $4, 'admin', true, $5, $6, $7, CASE WHEN $3 = $8 THEN now() END FROM link
       RETURNING ${PERSON_COLUMNS}`,
      [this.hashes(token), newPersonId(), email, name, ...columnsOf(credential)],
    );
  }

  /** Uses up an `invite` link; undefined when it can't be used, or when somebody of the account has its address. */
  async createInvited(token: string, { name, ...credential }: NewPerson): Promise<Person | undefined> {
    return await writePerson(
      this.database,
      `WITH link AS (
         UPDATE sign_in_links SET used_at = now()
         WHERE token_hash = ANY($1) AND purpose = 'invite' AND used_at IS NULL AND expires_at > now() AND email IS NOT NULL
           AND EXISTS (SELECT 1 FROM accounts WHERE accounts.id = account_id AND disabled_at IS NULL)
         RETURNING account_id, email, role)
       INSERT INTO people (id, account_id, email, name, role, password_hash, openid_issuer, openid_subject,
         email_verified_at)
       SELECT $2, account_id, email, $3, role, $4, $5, $6, CASE WHEN email = $7 THEN now() END FROM link
       RETURNING ${PERSON_COLUMNS}`,
      [this.hashes(token), newPersonId(), name, ...columnsOf(credential)],
    );
  }

  /**
   * Uses up a `password` link: its person signs in with this from now on, and all their sessions end. Whoever comes with
   * an identity has no password any more: it may be another's. Whose the mailbox is must be proven anew. Undefined when
   * the link can't be used, or when the identity is somebody else's.
   */
  async resetCredential(token: string, credential: Credential): Promise<Person | undefined> {
    return await writePerson(
      this.database,
      `WITH link AS (
         UPDATE sign_in_links SET used_at = now()
         WHERE token_hash = ANY($1) AND purpose = 'password' AND used_at IS NULL AND expires_at > now()
         RETURNING account_id, email),
       changed AS (
         UPDATE people SET password_hash = $2, openid_issuer = COALESCE($3, openid_issuer),
           openid_subject = COALESCE($4, openid_subject),
           email_verified_at = CASE WHEN people.email = $5 THEN now() END
         FROM link WHERE people.account_id = link.account_id AND people.email = link.email RETURNING people.*),
       ended AS (DELETE FROM sessions USING changed WHERE sessions.person_id = changed.id)
       SELECT ${PERSON_COLUMNS} FROM changed`,
      [this.hashes(token), ...columnsOf(credential)],
    );
  }

  /** Sets a password and ends all sessions of its person but one. */
  async changePassword(personId: string, passwordHash: string, sessionToKeep: string): Promise<void> {
    await this.database.query(
      `WITH changed AS (UPDATE people SET password_hash = $2 WHERE id = $1)
       DELETE FROM sessions WHERE person_id = $1 AND id <> $3`,
      [personId, passwordHash, sessionToKeep],
    );
  }

  /** Who may come in with an e-mail address and a password: one of each account at most, who was here last first. */
  async forSignIn(email: string): Promise<WithPassword[]> {
    const { rows } = await this.database.query<WithPassword>(
      `SELECT ${PERSON_COLUMNS}, password_hash AS "passwordHash" FROM people
       WHERE email = $1 AND password_hash IS NOT NULL AND disabled_at IS NULL
         AND account_id IN (SELECT id FROM accounts WHERE disabled_at IS NULL)
       ORDER BY seen_at DESC NULLS LAST, id LIMIT ${MAX_NAMESAKES}`,
      [email],
    );
    return rows;
  }

  /**
   * The hash of a password of anybody who signs in with an address, or with that of a link: whoever else chooses one
   * for the address shares its salt, so that a sign-in hashes once however many accounts know the address.
   */
  async saltSource(by: { readonly email: string } | { readonly token: string }): Promise<string | undefined> {
    const [email, token] = 'email' in by ? [by.email, null] : [null, this.hashes(by.token)];
    const { rows } = await this.database.query<{ hash: string }>(
      `SELECT password_hash AS hash FROM people WHERE password_hash IS NOT NULL
         AND email = COALESCE($1, (SELECT email FROM sign_in_links WHERE token_hash = ANY($2)))
       ORDER BY id LIMIT 1`,
      [email, token],
    );
    return rows[0]?.hash;
  }

  /** Whether somebody of an account has the address. */
  async hasEmail(accountId: string, email: string): Promise<boolean> {
    const { rows } = await this.database.query('SELECT 1 FROM people WHERE account_id = $1 AND email = $2', [
      ...[accountId, email],
    ]);
    return rows.length > 0;
  }

  /** Everyone of an account, or of all accounts, oldest first. */
  async list(accountId?: string): Promise<Person[]> {
    const { rows } = await this.database.query<Person>(
      `SELECT ${PERSON_COLUMNS} FROM people WHERE $1::text IS NULL OR account_id = $1 ORDER BY created_at, id`,
      [accountId ?? null],
    );
    return rows;
  }

  /** A person of an account; undefined when it has no such person. */
  async find(accountId: string, id: string): Promise<Person | undefined> {
    const { rows } = await this.database.query<Person>(
      `SELECT ${PERSON_COLUMNS} FROM people WHERE id = $1 AND account_id = $2`,
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
       SELECT ${PERSON_COLUMNS} FROM changed`,
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

  private hashes(token: string): Buffer[] {
    return tokenHashes(this.secrets, 'link', token);
  }
}

/** The person that a statement makes or changes; undefined when there is none, or when somebody else is that already. */
export async function writePerson(
  database: Queryable,
  statement: string,
  values: unknown[],
): Promise<Person | undefined> {
  try {
    return (await database.query<Person>(statement, values)).rows[0];
  } catch (error) {
    // The whole statement is undone: the link stays as it was.
    if ((error as { code?: unknown }).code === UNIQUE_VIOLATION) return undefined;
    throw error;
  }
}

export function newPersonId(): string {
  return `person_${ulid()}`;
}

/** Values of password_hash, openid_issuer and openid_subject, and the address that is proven by them. */
function columnsOf({ passwordHash, identity, vouchedEmail }: Credential): (string | null)[] {
  return [passwordHash ?? null, identity?.issuer ?? null, identity?.subject ?? null, vouchedEmail ?? null];
}
