import { Injectable } from '@nestjs/common';
import { ulid } from 'ulid';
import type { Person as PersonRow, Prisma } from '#database/generated/client.js';
import { isUniqueViolation } from '#database/database-errors.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Transaction } from '#database/queryable.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { lockAccount } from './accounts.sql.js';
import type { Identity } from './openid-provider.js';
import { roleColumns, roleOf, type Role } from './person-rules.js';
import { forgetSecondFactors } from './second-factor-store.js';
import { CAN_SIGN_IN, leaveSignIn, withSignIn } from './shared-sign-in.js';
import { tokenHashes } from './tokens.js';

/** Somebody who may use the console for one account. */
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
  /** The person who holds what they sign in with: themselves, or one of another account. */
  readonly signInId: string;
}

/** What others may change of somebody. */
interface PersonChange {
  readonly role?: Role | undefined;
  readonly disabled?: boolean | undefined;
  readonly deleted?: true;
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
  readonly name: string;
};

/** Somebody who has shown who they are; with a session, for as long as that lasts. */
interface SignedIn {
  readonly signInId: string;
  readonly email: string;
  readonly name: string;
  readonly sessionId?: string;
}

/** A person who signs in with a password. */
export type WithPassword = Person & { readonly passwordHash: string };

/** What people sign in with is in their own row, or in this. */
const SIGN_IN = { signIn: { select: { passwordHash: true, openidSubject: true } } } as const;
/** Accounts in which one address is looked up. */
const MAX_NAMESAKES = 100;

/** The people of the console. */
@Injectable()
export class PersonStore {
  private founded = false;

  constructor(
    private readonly prisma: PrismaService,
    private readonly secrets: SecretsConfig,
  ) {}

  /** Whether somebody is the first admin already; once they are, they stay it, and the database is not asked again. */
  async hasFounder(): Promise<boolean> {
    if (!this.founded) this.founded = (await this.prisma.person.count({ where: { founder: true } })) > 0;
    return this.founded;
  }

  /** Uses up a `first_admin` link; undefined when it can't be used, or when somebody else was first. */
  async createFounder(
    token: string,
    { email, name, ...credential }: NewPerson & { readonly email: string },
  ): Promise<Person | undefined> {
    return await writePerson(this.prisma, async (transaction) => {
      if ((await transaction.person.count({ where: { founder: true } })) > 0) return undefined;
      const link = await useLink(transaction, { ...this.link(token), purpose: 'first_admin' });
      if (link === undefined) return undefined;
      const { accountId } = link;
      const columns = { id: newPersonId(), accountId, email, name, role: 'admin', founder: true };
      return await transaction.person.create({ data: { ...columns, ...columnsOf(credential, email) } });
    });
  }

  /** Uses up an `invite` link; undefined when it can't be used, or when somebody of the account has its address. */
  async createInvited(token: string, { name, ...credential }: NewPerson): Promise<Person | undefined> {
    return await writePerson(this.prisma, async (transaction) => {
      const wanted = { ...this.link(token), purpose: 'invite', email: { not: null }, account: { disabledAt: null } };
      const { accountId, email, role } = (await useLink(transaction, wanted)) ?? { email: null };
      if (email === null) return undefined;
      const columns = { id: newPersonId(), accountId, email, name, role };
      return await transaction.person.create({ data: { ...columns, ...columnsOf(credential, email) } });
    });
  }

  /**
   * Uses up an `invite` link for somebody who signs in already: they become a person of its account with the same sign-in
   * and address, whomever the link was made for. `member` when somebody of the account has their address; undefined when
   * the link can't be used, or their session is over.
   */
  async createLinked(
    token: string,
    { signInId, email, name, sessionId }: SignedIn,
  ): Promise<Person | 'member' | undefined> {
    const wanted = { ...this.link(token), purpose: 'invite', account: { disabledAt: null } };
    const found = await this.prisma.signInLink.findFirst({ where: { ...wanted, usedAt: null } });
    if (found !== null && (await this.hasEmail(found.accountId, email))) return 'member';
    return await writePerson(this.prisma, async (transaction) => {
      // A write, for its lock: see leaveSignIn.
      const holder = { id: signInId, email, signsInAs: null, deletedAt: null };
      const { count } = await transaction.person.updateMany({ where: holder, data: { signsInAs: null } });
      if (count === 0) return undefined;
      const session = { id: sessionId ?? '', person: withSignIn(signInId) };
      if (sessionId !== undefined && (await transaction.session.count({ where: session })) === 0) return undefined;
      const link = await useLink(transaction, wanted);
      if (link === undefined) return undefined;
      const columns = { id: newPersonId(), accountId: link.accountId, email, name, role: link.role };
      return await transaction.person.create({ data: { ...columns, signsInAs: signInId }, include: SIGN_IN });
    });
  }

  /**
   * Uses up a `password` link: its person signs in with this from now on, and the sessions of the sign-in end. A link for
   * one account takes its person out of a sign-in that is shared with others, where its maker has no say. Whoever comes
   * with an identity has no password any more: it may be another's. Whose the mailbox is must be proven anew. Undefined
   * when the link can't be used, or when the identity is somebody else's.
   */
  async resetCredential(token: string, credential: Credential): Promise<Person | undefined> {
    return await writePerson(this.prisma, async (transaction) => {
      const link = await useLink(transaction, { ...this.link(token), purpose: 'password' });
      if (link === undefined || link.email === null) return undefined;
      const { accountId, email, allAccounts } = link;
      const person = await transaction.person.findFirst({ where: { accountId, email } });
      if (person === null) return undefined;
      const signInId = allAccounts ? (person.signsInAs ?? person.id) : person.id;
      if (!allAccounts) await leaveSignIn(transaction, person.id);
      await transaction.person.update({ where: { id: signInId }, data: columnsOf(credential, email) });
      await transaction.session.deleteMany({ where: { person: withSignIn(signInId) } });
      if (credential.passwordHash === undefined) await forgetSecondFactors(transaction, { id: signInId });
      return await transaction.person.findUniqueOrThrow({ where: { id: person.id }, include: SIGN_IN });
    });
  }

  /** Sets the password of a sign-in and ends all its sessions but one. */
  async changePassword(signInId: string, passwordHash: string, sessionToKeep: string): Promise<void> {
    const others = { person: withSignIn(signInId), id: { not: sessionToKeep } };
    await this.prisma.$transaction([
      this.prisma.person.updateMany({ where: { id: signInId }, data: { passwordHash } }),
      this.prisma.session.deleteMany({ where: others }),
    ]);
  }

  /**
   * Whose password it may be that comes with an email address, who was here last first: those of them who can come in to
   * their account, or to another one by the same sign-in.
   */
  async forSignIn(email: string): Promise<WithPassword[]> {
    const rows = await this.prisma.person.findMany({
      where: { email, passwordHash: { not: null }, ...CAN_SIGN_IN },
      orderBy: [{ seenAt: { sort: 'desc', nulls: 'last' } }, { id: 'asc' }],
      take: MAX_NAMESAKES,
      include: { linked: { select: { seenAt: true } } },
    });
    const seen = ({ seenAt, linked }: (typeof rows)[number]) =>
      Math.max(...[seenAt, ...linked.map((one) => one.seenAt)].map((time) => time?.getTime() ?? 0));
    return rows
      .sort((a, b) => seen(b) - seen(a))
      .flatMap((row) => (row.passwordHash === null ? [] : [{ ...personOf(row), passwordHash: row.passwordHash }]));
  }

  /**
   * The hash of a password of anybody who signs in with an address: whoever else chooses one for it shares its salt, so
   * that a sign-in hashes once however many accounts know the address.
   */
  async saltSource(email: string): Promise<string | undefined> {
    const person = await this.prisma.person.findFirst({
      where: { email, passwordHash: { not: null } },
      orderBy: { id: 'asc' },
    });
    return person?.passwordHash ?? undefined;
  }

  /** Whom a link is for; undefined when it is for whoever holds it, or is none. */
  async linkEmail(token: string): Promise<string | undefined> {
    return (await this.prisma.signInLink.findFirst({ where: this.link(token) }))?.email ?? undefined;
  }

  /** Whether somebody of an account has the address. */
  async hasEmail(accountId: string, email: string): Promise<boolean> {
    return (await this.prisma.person.count({ where: { accountId, email } })) > 0;
  }

  /** Everyone who was not deleted of an account, or of all accounts, oldest first. */
  async list(accountId?: string): Promise<Person[]> {
    const rows = await this.prisma.person.findMany({
      where: { deletedAt: null, ...(accountId !== undefined && { accountId }) },
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      include: SIGN_IN,
    });
    return rows.map(personOf);
  }

  /** A person of an account; undefined when it has no such person. */
  async find(accountId: string, id: string): Promise<Person | undefined> {
    const row = await this.prisma.person.findFirst({ where: { id, accountId, deletedAt: null }, include: SIGN_IN });
    return row === null ? undefined : personOf(row);
  }

  /**
   * Changes a person of an account, and ends their sessions when they are disabled or deleted. Nobody is changed when the account
   * would be left without an admin or an owner. Admins are locked before they are counted: of two who take each other's rights at
   * once, the second finds the first one's change.
   */
  async change(
    accountId: string,
    id: string,
    { role, disabled, deleted }: PersonChange,
  ): Promise<Person | 'unknown' | 'last_admin' | 'last_owner'> {
    return await this.prisma.$transaction(async (transaction) => {
      // Rows are locked by writing what they hold; behind the account, so that two who do it don't wait in a circle.
      await lockAccount(transaction, accountId);
      const lockAdmins = async () =>
        await transaction.person.updateManyAndReturn({
          where: { accountId, role: 'admin', disabledAt: null },
          data: { role: 'admin' },
          select: { id: true, owner: true },
        });
      let admins = await lockAdmins();
      // The version before may have taken the last owner away while this waited for it; writing again makes another.
      if (!admins.some(({ owner }) => owner)) admins = await lockAdmins();
      const before = await transaction.person.findFirst({ where: { id, accountId, deletedAt: null } });
      if (before === null) return 'unknown';
      const columns = role && roleColumns(role);
      const isOut = disabled === true || deleted === true;
      const isLess = isOut || (columns !== undefined && columns.role !== 'admin');
      if (isLess && admins.every((admin) => admin.id === id)) return 'last_admin';
      const isNoOwner = isLess || columns?.owner === false;
      if (isNoOwner && before.owner && !admins.some((admin) => admin.owner && admin.id !== id)) return 'last_owner';
      const disabledAt = disabled === true ? (before.disabledAt ?? new Date()) : null;
      if (deleted) await leaveSignIn(transaction, id);
      const person = await transaction.person.update({
        where: { id },
        include: SIGN_IN,
        data: { ...columns, ...(disabled !== undefined && { disabledAt }), ...(deleted && erasedPerson(id)) },
      });
      if (deleted) {
        await transaction.signInLink.deleteMany({ where: { accountId, email: before.email } });
        await forgetSecondFactors(transaction, { id });
      }
      if (isOut) await transaction.session.deleteMany({ where: { personId: id } });
      return personOf(person);
    });
  }

  /** Whether people of other accounts sign in with the same. */
  async sharesSignIn({ id, signInId }: Person): Promise<boolean> {
    return signInId !== id || (await this.prisma.person.count({ where: { signsInAs: id, deletedAt: null } })) > 0;
  }

  /** Changes somebody's name. */
  async rename(accountId: string, id: string, name: string): Promise<void> {
    await this.prisma.person.updateMany({ where: { id, accountId }, data: { name } });
  }

  /** Ends all sessions of a person of an account. */
  async signOut(accountId: string, id: string): Promise<void> {
    await this.prisma.session.deleteMany({ where: { personId: id, person: { accountId } } });
  }

  private link(token: string) {
    return { tokenHash: { in: tokenHashes(this.secrets, 'link', token) } };
  }
}

/** The person that a transaction makes or changes; undefined when there is none, or when somebody else is that already. */
export async function writePerson(
  prisma: PrismaService,
  work: (transaction: Transaction) => Promise<PersonRow | undefined>,
): Promise<Person | undefined> {
  try {
    const row = await prisma.$transaction(work);
    return row === undefined ? undefined : personOf(row);
  } catch (error) {
    // All of it is undone: the link stays as it was.
    if (isUniqueViolation(error)) return undefined;
    throw error;
  }
}

/** Uses up a link that still works; of two who come at once, one gets it. */
export async function useLink(transaction: Transaction, where: Prisma.SignInLinkWhereInput) {
  const now = new Date();
  const [link] = await transaction.signInLink.updateManyAndReturn({
    where: { ...where, usedAt: null, expiresAt: { gt: now } },
    data: { usedAt: now },
  });
  return link;
}

type CredentialColumns = Pick<PersonRow, 'passwordHash' | 'openidSubject'>;

/** A row of people as it is shown. */
export function personOf(row: PersonRow & { readonly signIn?: CredentialColumns | null }): Person {
  const { id, accountId, email, name, createdAt, seenAt, disabledAt } = row;
  const { passwordHash, openidSubject } = row.signIn ?? row;
  return {
    ...{ id, accountId, email, name, role: roleOf(row), createdAt, seenAt, disabledAt },
    ...{ hasPassword: passwordHash !== null, hasIdentity: openidSubject !== null, signInId: row.signsInAs ?? id },
  };
}

/** What a row becomes whose person is deleted: the name stays, for the audit log and what they made. */
export function erasedPerson(id: string) {
  const now = new Date();
  return {
    ...{
      email: `deleted:${id.toLowerCase()}`,
      emailVerifiedAt: null,
      passwordHash: null,
      openidIssuer: null,
      openidSubject: null,
      signsInAs: null,
      userHandle: null,
    },
    ...{ owner: false, disabledAt: now, deletedAt: now },
  };
}

/** A new id, `person_` and a ULID: ids of later people sort after it. */
export function newPersonId(): string {
  return `person_${ulid()}`;
}

/** What a credential sets of the person who has the address: a password takes no identity away. */
function columnsOf({ passwordHash, identity, vouchedEmail }: Credential, email: string) {
  const openid = identity && { openidIssuer: identity.issuer, openidSubject: identity.subject };
  const emailVerifiedAt = vouchedEmail === email ? new Date() : null;
  return { passwordHash: passwordHash ?? null, emailVerifiedAt, ...openid };
}
