import { DEFAULT_ACCOUNT } from './api-keys.js';
import type { Queryable } from '#database/queryable.js';
import type { Claims, Identity } from './openid-provider.js';
import { OpenIdRefusal } from './openid-refusal.js';
import { writePerson, newPersonId, PERSON_COLUMNS, type Person } from './person-store.js';

/** A person whom the provider vouches for. */
interface Vouched extends Identity {
  readonly email: string;
  readonly name: string;
}

/** How somebody was found: known before, or linked or made just now. */
interface Admitted {
  readonly person: Person;
  readonly how: 'known' | 'linked' | 'joined';
}

/**
 * Who in the console somebody at the provider is.
 *
 * Why nobody is taken over, or lured into a stranger's account: the operator chose the one provider, and only it is
 * asked. A person belongs to an (issuer, subject) once they came with it, whatever becomes of their e-mail address.
 * The address decides only before that, only when the provider has verified it, and opens the first account alone,
 * whose admins are the operators: any admin of another account may claim any address, so other accounts are entered by
 * their links. What somebody set up before the mailbox was proven (a password, sessions) ends when it is.
 */
export class OpenIdPeople {
  constructor(private readonly database: Queryable) {}

  /** Whoever has this identity. */
  async find({ issuer, subject }: Identity): Promise<Person | undefined> {
    const { rows } = await this.database.query<Person>(
      `SELECT ${PERSON_COLUMNS} FROM people WHERE openid_issuer = $1 AND openid_subject = $2`,
      [issuer, subject],
    );
    return rows[0];
  }

  /** `domains`, in lower case, are those whose people join by themselves. Throws OpenIdRefusal. */
  async admit(claims: Claims, domains: readonly string[]): Promise<Admitted> {
    const known = await this.find(claims);
    if (known !== undefined) return { person: known, how: 'known' };
    const { email, emailVerified } = claims;
    if (email === undefined || !emailVerified) throw new OpenIdRefusal('unverified');
    const vouched = { ...claims, email, name: claims.name ?? email };
    const linked = await this.link(vouched);
    if (linked !== undefined) return { person: linked, how: 'linked' };
    await this.assertFree(vouched);
    const mayJoin = domains.includes(email.slice(email.lastIndexOf('@') + 1));
    const joined = (await this.joinInvited(vouched)) ?? (mayJoin ? await this.joinMembers(vouched) : undefined);
    if (joined !== undefined) return { person: joined, how: 'joined' };
    // Somebody may have come twice at the same moment.
    const meanwhile = await this.find(claims);
    if (meanwhile === undefined) throw new OpenIdRefusal('not_invited');
    return { person: meanwhile, how: 'known' };
  }

  /**
   * Gives the identity to the person of the first account who has the address, or to whoever proved before that it is
   * theirs. An identity of an issuer that is not asked any more opens nothing; it gives way. Undefined when there is
   * nobody such.
   */
  private async link({ issuer, subject, email }: Vouched): Promise<Person | undefined> {
    return await writePerson(
      this.database,
      `WITH holder AS (
         SELECT id, email_verified_at IS NOT NULL AS proven FROM people
         WHERE email = $3 AND disabled_at IS NULL AND openid_issuer IS DISTINCT FROM $1
           AND (account_id = $4 OR email_verified_at IS NOT NULL)
           AND account_id IN (SELECT id FROM accounts WHERE disabled_at IS NULL)
         ORDER BY email_verified_at DESC NULLS LAST, id LIMIT 1),
       linked AS (
         UPDATE people SET openid_issuer = $1, openid_subject = $2, email_verified_at = now(),
           password_hash = CASE WHEN proven THEN password_hash END
         FROM holder WHERE people.id = holder.id AND openid_issuer IS DISTINCT FROM $1
         RETURNING people.*, proven),
       ended AS (DELETE FROM sessions USING linked WHERE person_id = linked.id AND NOT proven)
       SELECT ${PERSON_COLUMNS} FROM linked`,
      [issuer, subject, email, DEFAULT_ACCOUNT],
    );
  }

  /** Throws OpenIdRefusal when the address is of somebody of the first account who can't be linked. */
  private async assertFree({ issuer, subject, email }: Vouched): Promise<void> {
    const { rows } = await this.database.query<Person>(
      `SELECT ${PERSON_COLUMNS} FROM people WHERE email = $1 AND account_id = $2`,
      [email, DEFAULT_ACCOUNT],
    );
    if (rows[0] === undefined) return;
    if (rows[0].disabledAt !== null) throw new OpenIdRefusal('disabled');
    if ((await this.find({ issuer, subject })) === undefined) throw new OpenIdRefusal('taken');
  }

  /** Uses up an open invitation of the address to the first account; undefined when there is none. */
  private async joinInvited({ issuer, subject, email, name }: Vouched): Promise<Person | undefined> {
    return await writePerson(
      this.database,
      `WITH link AS (
         UPDATE sign_in_links SET used_at = now() WHERE used_at IS NULL AND id = (
           SELECT id FROM sign_in_links
           WHERE purpose = 'invite' AND account_id = $6 AND email = $1 AND used_at IS NULL AND expires_at > now()
           ORDER BY created_at DESC, id DESC LIMIT 1)
         RETURNING account_id, email, role)
       INSERT INTO people (id, account_id, email, name, role, openid_issuer, openid_subject, email_verified_at)
       SELECT $2, account_id, email, $3, role, $4, $5, now() FROM link RETURNING ${PERSON_COLUMNS}`,
      [email, newPersonId(), name, issuer, subject, DEFAULT_ACCOUNT],
    );
  }

  /** A member of the first account; undefined before there is an admin. */
  private async joinMembers({ issuer, subject, email, name }: Vouched): Promise<Person | undefined> {
    return await writePerson(
      this.database,
      `INSERT INTO people (id, account_id, email, name, role, openid_issuer, openid_subject, email_verified_at)
       SELECT $1, $2, $3, $4, 'member', $5, $6, now() WHERE EXISTS (SELECT 1 FROM people WHERE founder)
       RETURNING ${PERSON_COLUMNS}`,
      [newPersonId(), DEFAULT_ACCOUNT, email, name, issuer, subject],
    );
  }
}
