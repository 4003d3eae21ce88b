import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { revokeKeysOf } from './api-key.repository.js';
import { DEFAULT_ACCOUNT } from './api-keys.js';
import { type Claims, type Identity, OpenIdRefusal } from './openid-provider.js';
import { deleteSecondFactors } from './second-factor-store.js';
import { newPersonId, personOf, useLink, writePerson, type Person } from './person-store.js';
import { leaveSignIn } from './shared-sign-in.js';

/** A user whose email address the provider has verified. */
interface VerifiedIdentity extends Identity {
  readonly email: string;
  readonly name: string;
}

/** How a user was admitted: known before, or linked or joined just now. */
interface AdmittedPerson {
  readonly person: Person;
  readonly how: 'known' | 'linked' | 'joined';
  /** Number of the person's keys that linking revoked, because another user may have created them. */
  readonly revokedKeys?: number;
}

/**
 * Finds or creates the person for a user of the OpenID Connect provider.
 *
 * How this prevents account takeover: the operator chose the one provider, and no other is asked. Once a person has
 * signed in with an (issuer, subject), that identity decides, whatever becomes of the email address. The address
 * decides only before that, only when the provider has verified it, and only for the first account, whose admins are
 * the operators: admins of other accounts could claim any address, so those are joined by link. Everything set up
 * before the mailbox was proven (password, two-factor authentication, sessions, API keys) ends when the identity is
 * linked.
 */
@Injectable()
export class OpenIdPeople {
  constructor(private readonly prisma: PrismaService) {}

  /** The person with this identity. */
  async find({ issuer, subject }: Identity): Promise<Person | undefined> {
    const row = await this.prisma.person.findFirst({ where: { openidIssuer: issuer, openidSubject: subject } });
    return row === null ? undefined : personOf(row);
  }

  /** Users whose address is in one of `domains` (lower case) join without an invitation. Throws OpenIdRefusal. */
  async admit(claims: Claims, domains: readonly string[]): Promise<AdmittedPerson> {
    const known = await this.find(claims);
    if (known !== undefined) return { person: known, how: 'known' };
    const { email, emailVerified } = claims;
    if (email === undefined || !emailVerified) throw new OpenIdRefusal('unverified');
    const vouched = { ...claims, email, name: claims.name ?? email };
    const linked = await this.link(vouched);
    if (linked !== undefined) return { ...linked, how: 'linked' };
    await this.assertFree(vouched);
    const mayJoin = domains.includes(email.slice(email.lastIndexOf('@') + 1));
    const joined = (await this.joinInvited(vouched)) ?? (mayJoin ? await this.joinMembers(vouched) : undefined);
    if (joined !== undefined) return { person: joined, how: 'joined' };
    // A concurrent request may have created the person.
    const meanwhile = await this.find(claims);
    if (meanwhile === undefined) throw new OpenIdRefusal('not_invited');
    return { person: meanwhile, how: 'known' };
  }

  /**
   * Links the identity to the person of the first account with this address, or to a person who has proven to own it.
   * An identity of a former issuer no longer opens anything, so it is replaced. Undefined when there is no such person.
   */
  private async link({ issuer, subject, email }: VerifiedIdentity): Promise<Omit<AdmittedPerson, 'how'> | undefined> {
    const elsewhere = [{ openidIssuer: null }, { openidIssuer: { not: issuer } }];
    let revokedKeys = 0;
    const person = await writePerson(this.prisma, async (transaction) => {
      const where = {
        email,
        disabledAt: null,
        OR: elsewhere,
        account: { disabledAt: null },
        AND: [
          { OR: [{ accountId: DEFAULT_ACCOUNT }, { emailVerifiedAt: { not: null } }] },
          // A person who shares a sign-in has the identity of its holder.
          { OR: [{ signsInAs: null }, { signIn: { OR: elsewhere } }] },
        ],
      };
      const found = await transaction.person.findFirst({
        where,
        orderBy: [{ emailVerifiedAt: { sort: 'desc', nulls: 'last' } }, { id: 'asc' }],
      });
      if (found === null) return undefined;
      const { id } = found;
      // A write, for its lock; they may have been changed meanwhile.
      const [holder] = await transaction.person.updateManyAndReturn({ where: { ...where, id }, data: { email } });
      if (holder === undefined) return undefined;
      const proven = holder.emailVerifiedAt !== null;
      // The mailbox may not belong to those who share the sign-in, so the person leaves it.
      if (!proven) await leaveSignIn(transaction, id);
      const linked = await transaction.person.update({
        where: { id },
        data: {
          openidIssuer: issuer,
          openidSubject: subject,
          emailVerifiedAt: new Date(),
          ...(!proven && { passwordHash: null }),
        },
      });
      if (proven) return linked;
      await transaction.session.deleteMany({ where: { personId: id } });
      await deleteSecondFactors(transaction, { id });
      revokedKeys = await revokeKeysOf(transaction, linked.accountId, id);
      return linked;
    });
    return person && { person, revokedKeys };
  }

  /** Throws OpenIdRefusal when the address belongs to a person of the first account who can't be linked. */
  private async assertFree({ issuer, subject, email }: VerifiedIdentity): Promise<void> {
    const holder = await this.prisma.person.findFirst({ where: { email, accountId: DEFAULT_ACCOUNT } });
    if (holder === null) return;
    if (holder.disabledAt !== null) throw new OpenIdRefusal('disabled');
    if ((await this.find({ issuer, subject })) === undefined) throw new OpenIdRefusal('taken');
  }

  /** Uses an open invitation of the address to the first account; undefined when there is none. */
  private async joinInvited(vouched: VerifiedIdentity): Promise<Person | undefined> {
    return await writePerson(this.prisma, async (transaction) => {
      const { email } = vouched;
      const newest = await transaction.signInLink.findFirst({
        where: { purpose: 'invite', accountId: DEFAULT_ACCOUNT, email, usedAt: null, expiresAt: { gt: new Date() } },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      });
      const link = newest === null ? undefined : await useLink(transaction, { id: newest.id });
      return link && (await transaction.person.create({ data: columnsOf(vouched, link.role) }));
    });
  }

  /** Creates a member of the first account; undefined before there is an admin. */
  private async joinMembers(vouched: VerifiedIdentity): Promise<Person | undefined> {
    return await writePerson(this.prisma, async (transaction) => {
      if ((await transaction.person.count({ where: { founder: true } })) === 0) return undefined;
      return await transaction.person.create({ data: columnsOf(vouched, 'member') });
    });
  }
}

/** Columns of a new person of the first account. */
function columnsOf({ issuer, subject, email, name }: VerifiedIdentity, role: string) {
  const identity = { openidIssuer: issuer, openidSubject: subject, emailVerifiedAt: new Date() };
  return { id: newPersonId(), accountId: DEFAULT_ACCOUNT, email, name, role, ...identity };
}
