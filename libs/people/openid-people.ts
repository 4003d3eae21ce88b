import { DEFAULT_ACCOUNT } from '#database/api-keys.js';
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
 * Why no account can be taken over: the operator chose the one provider, and only it is asked. A person belongs to an
 * (issuer, subject) once they came with it, whatever becomes of their e-mail address. The address decides only before
 * that, only when the provider has verified it, and never for a person who has another subject at the same issuer: an
 * address that was given to somebody new at the provider does not open what its former owner has here.
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
    const mayJoin = domains.includes(email.slice(email.lastIndexOf('@') + 1));
    const joined = (await this.joinInvited(vouched)) ?? (mayJoin ? await this.joinMembers(vouched) : undefined);
    if (joined !== undefined) return { person: joined, how: 'joined' };
    // Somebody may have come twice at the same moment.
    const meanwhile = await this.find(claims);
    if (meanwhile === undefined) throw new OpenIdRefusal('not_invited');
    return { person: meanwhile, how: 'known' };
  }

  /** Undefined when nobody has the address. Throws OpenIdRefusal when its person can't be linked. */
  private async link({ issuer, subject, email }: Vouched): Promise<Person | undefined> {
    const holder = await this.database.query<Person>(`SELECT ${PERSON_COLUMNS} FROM people WHERE email = $1`, [email]);
    if (holder.rows[0] === undefined) return undefined;
    if (holder.rows[0].disabledAt !== null) throw new OpenIdRefusal('disabled');
    // An identity of an issuer that is not asked any more opens nothing; it gives way.
    const { rows } = await this.database.query<Person>(
      `UPDATE people SET openid_issuer = $1, openid_subject = $2
       WHERE email = $3 AND disabled_at IS NULL AND openid_issuer IS DISTINCT FROM $1
       RETURNING ${PERSON_COLUMNS}`,
      [issuer, subject, email],
    );
    if (rows[0] === undefined && (await this.find({ issuer, subject })) === undefined) throw new OpenIdRefusal('taken');
    return rows[0];
  }

  /** Uses up the newest open invitation of the address; undefined when there is none. */
  private async joinInvited({ issuer, subject, email, name }: Vouched): Promise<Person | undefined> {
    return await writePerson(
      this.database,
      `WITH link AS (
         UPDATE sign_in_links SET used_at = now() WHERE used_at IS NULL AND id = (
           SELECT id FROM sign_in_links
           WHERE purpose = 'invite' AND email = $1 AND used_at IS NULL AND expires_at > now()
             AND EXISTS (SELECT 1 FROM accounts WHERE accounts.id = account_id AND disabled_at IS NULL)
           ORDER BY created_at DESC, id DESC LIMIT 1)
         RETURNING account_id, email, role)
       INSERT INTO people (id, account_id, email, name, role, openid_issuer, openid_subject)
       SELECT $2, account_id, email, $3, role, $4, $5 FROM link RETURNING ${PERSON_COLUMNS}`,
      [email, newPersonId(), name, issuer, subject],
    );
  }

  /** A member of the first account; undefined before there is an admin. */
  private async joinMembers({ issuer, subject, email, name }: Vouched): Promise<Person | undefined> {
    return await writePerson(
      this.database,
      `INSERT INTO people (id, account_id, email, name, role, openid_issuer, openid_subject)
       SELECT $1, $2, $3, $4, 'member', $5, $6 WHERE EXISTS (SELECT 1 FROM people WHERE founder)
       RETURNING ${PERSON_COLUMNS}`,
      [newPersonId(), DEFAULT_ACCOUNT, email, name, issuer, subject],
    );
  }
}
