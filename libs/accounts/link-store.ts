import type { Queryable } from '#database/queryable.js';
import type { Person, Role } from './person-store.js';
import { createSignInLink } from './sign-in-links.js';

/** Somebody who was asked to join, and has not yet. */
export interface Invitation {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** `sign_in_links` that are invitations and may still become people. */
const OPEN = `purpose = 'invite' AND used_at IS NULL AND email IS NOT NULL
  AND NOT EXISTS (
    SELECT 1 FROM people WHERE people.account_id = sign_in_links.account_id AND people.email = sign_in_links.email)`;
const COLUMNS = `id, email, role, created_at AS "createdAt", expires_at AS "expiresAt"`;

/** The links that people are sent: to join an account, and to choose a new password. */
export class LinkStore {
  constructor(
    private readonly database: Queryable,
    private readonly secretKey: string,
    /** Where the console is served, without its path. */
    private readonly publicUrl: string,
  ) {}

  /** A link with which somebody joins an account, once, within 24 hours; an older one for them ends. */
  async invite(accountId: string, { email, role }: Pick<Invitation, 'email' | 'role'>): Promise<string> {
    return await createSignInLink(this.database, this.secretKey, this.publicUrl, {
      ...{ purpose: 'invite', accountId, email, role },
    });
  }

  /** A link with which a person chooses a new password, once, within 24 hours; an older one ends. */
  async resetPassword({ accountId, email, role }: Person): Promise<string> {
    return await createSignInLink(this.database, this.secretKey, this.publicUrl, {
      ...{ purpose: 'password', accountId, email, role },
    });
  }

  /** The open invitations of an account, also those whose time is over, oldest first. */
  async invitations(accountId: string): Promise<Invitation[]> {
    const { rows } = await this.database.query<Invitation>(
      `SELECT ${COLUMNS} FROM sign_in_links WHERE account_id = $1 AND ${OPEN} ORDER BY created_at, id`,
      [accountId],
    );
    return rows;
  }

  /** Ends an open invitation of an account; undefined when there is none. */
  async withdraw(accountId: string, id: string): Promise<Invitation | undefined> {
    const { rows } = await this.database.query<Invitation>(
      `DELETE FROM sign_in_links WHERE id = $1 AND account_id = $2 AND ${OPEN} RETURNING ${COLUMNS}`,
      [id, accountId],
    );
    return rows[0];
  }
}
