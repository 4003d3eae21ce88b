import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { revokeKeysOf } from './api-key.repository.js';
import { DEFAULT_ACCOUNT } from './api-keys.js';
import { type Claims, type Identity, OpenIdRefusal } from './openid-provider.js';
import { forgetSecondFactors } from './second-factor-store.js';
import { newPersonId, personOf, useLink, writePerson, type Person } from './person-store.js';
import { leaveSignIn } from './shared-sign-in.js';

/** A person whom the provider vouches for. */
interface Vouched extends Identity {
  readonly email: string;
  readonly name: string;
}

/** How somebody was found: known before, or linked or made just now. */
interface Admitted {
  readonly person: Person;
  readonly how: 'known' | 'linked' | 'joined';
  /** Keys of the person that ended with the link, because somebody else may have made them. */
  readonly revokedKeys?: number;
}

/**
 * Who in the console somebody at the provider is.
 *
 * Why nobody is taken over, or lured into a stranger's account: the operator chose the one provider, and only it is
 * asked. A person belongs to an (issuer, subject) once they came with it, whatever becomes of their email address.
 * The address decides only before that, only when the provider has verified it, and opens the first account alone,
 * whose admins are the operators: any admin of another account may claim any address, so other accounts are entered by
 * their links. What somebody set up before the mailbox was proven (a password, two-factor authentication, sessions, API
 * keys) ends when it is.
 */
@Injectable()
export class OpenIdPeople {
  constructor(private readonly prisma: PrismaService) {}

  /** Whoever has this identity. */
  async find({ issuer, subject }: Identity): Promise<Person | undefined> {
    const row = await this.prisma.person.findFirst({ where: { openidIssuer: issuer, openidSubject: subject } });
    return row === null ? undefined : personOf(row);
  }

  /** `domains`, in lower case, are those whose people join by themselves. Throws OpenIdRefusal. */
  async admit(claims: Claims, domains: readonly string[]): Promise<Admitted> {
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
  private async link({ issuer, subject, email }: Vouched): Promise<Omit<Admitted, 'how'> | undefined> {
    const elsewhere = [{ openidIssuer: null }, { openidIssuer: { not: issuer } }];
    let revokedKeys = 0;
    const person = await writePerson(this.prisma, async (transaction) => {
      const holder = await transaction.person.findFirst({
        where: {
          ...{ email, disabledAt: null, OR: elsewhere, account: { disabledAt: null } },
          AND: [
            { OR: [{ accountId: DEFAULT_ACCOUNT }, { emailVerifiedAt: { not: null } }] },
            // Whoever signs in with what another person holds has the identity of that one.
            { OR: [{ signsInAs: null }, { signIn: { OR: elsewhere } }] },
          ],
        },
        orderBy: [{ emailVerifiedAt: { sort: 'desc', nulls: 'last' } }, { id: 'asc' }],
      });
      if (holder === null) return undefined;
      const proven = holder.emailVerifiedAt !== null;
      const { id } = holder;
      // A write, for its lock.
      const { count } = await transaction.person.updateMany({ where: { id, OR: elsewhere }, data: { email } });
      if (count === 0) return undefined;
      // Whoever shares this sign-in goes on without the person: the mailbox may not be theirs.
      if (!proven) await leaveSignIn(transaction, id);
      const linked = await transaction.person.update({
        where: { id },
        data: {
          ...{ openidIssuer: issuer, openidSubject: subject, emailVerifiedAt: new Date() },
          ...(!proven && { passwordHash: null }),
        },
      });
      if (proven) return linked;
      await transaction.session.deleteMany({ where: { personId: id } });
      await forgetSecondFactors(transaction, { id });
      revokedKeys = await revokeKeysOf(transaction, linked.accountId, id);
      return linked;
    });
    return person && { person, revokedKeys };
  }

  /** Throws OpenIdRefusal when the address is of somebody of the first account who can't be linked. */
  private async assertFree({ issuer, subject, email }: Vouched): Promise<void> {
    const holder = await this.prisma.person.findFirst({ where: { email, accountId: DEFAULT_ACCOUNT } });
    if (holder === null) return;
    if (holder.disabledAt !== null) throw new OpenIdRefusal('disabled');
    if ((await this.find({ issuer, subject })) === undefined) throw new OpenIdRefusal('taken');
  }

  /** Uses up an open invitation of the address to the first account; undefined when there is none. */
  private async joinInvited(vouched: Vouched): Promise<Person | undefined> {
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

  /** A member of the first account; undefined before there is an admin. */
  private async joinMembers(vouched: Vouched): Promise<Person | undefined> {
    return await writePerson(this.prisma, async (transaction) => {
      if ((await transaction.person.count({ where: { founder: true } })) === 0) return undefined;
      return await transaction.person.create({ data: columnsOf(vouched, 'member') });
    });
  }
}

/** Somebody new of the first account. */
function columnsOf({ issuer, subject, email, name }: Vouched, role: string) {
  const identity = { openidIssuer: issuer, openidSubject: subject, emailVerifiedAt: new Date() };
  return { id: newPersonId(), accountId: DEFAULT_ACCOUNT, email, name, role, ...identity };
}
