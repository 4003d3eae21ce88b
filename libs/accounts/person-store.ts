import { Injectable } from '@nestjs/common';
import { ulid } from 'ulid';
import type { Person as PersonRow, Prisma, SignInLink } from '#database/generated/client.js';
import { isUniqueViolation } from '#database/database-errors.js';
import { inList, NO_JSON } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Transaction } from '#database/queryable.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { lockAccount } from './accounts.sql.js';
import type { Identity } from './openid-provider.js';
import { ABILITIES, roleColumns, roleOf, type Role } from './person-rules.js';
import { deleteSecondFactors } from './second-factor-store.js';
import { CAN_SIGN_IN, credentialsDigest, leaveSignIn, lockSignIn, withSignIn } from './shared-sign-in.js';
import { tokenHashes } from './tokens.js';

/** A user of the console, in one account. */
export interface Person {
  readonly id: string;
  readonly accountId: string;
  /** As `storedEmailOf` spells it; unique within the account. */
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
  /** The person who holds their sign-in: themselves, or a person of another account. */
  readonly signInId: string;
  /** Of their sign-in, when it was read. */
  readonly credentialsDigest: string;
}

/** What others may change about a person. */
interface PersonChange {
  readonly role?: Role | undefined;
  readonly disabled?: boolean | undefined;
  readonly deleted?: true;
}

/** What a user signs in with: a password, or an identity at the provider. */
export type Credential =
  | { readonly passwordHash: string; readonly identity?: undefined; readonly vouchedEmail?: undefined }
  | {
      readonly identity: Identity;
      /** The address that the provider has verified, if any. */
      readonly vouchedEmail?: string | undefined;
      readonly passwordHash?: undefined;
    };

/** The person that a link creates. */
type NewPerson = Credential & {
  readonly name: string;
};

/** An authenticated user; with the session, or the digest of the credentials that they have just proven. */
interface SignedIn {
  readonly signInId: string;
  readonly email: string;
  readonly name: string;
  readonly sessionId?: string;
  readonly credentialsDigest?: string;
}

/** A person who signs in with a password. */
export type WithPassword = Person & { readonly passwordHash: string };

/** The credentials of a person are in their own row, or in this one. */
const SIGN_IN = { signIn: { select: { passwordHash: true, openidSubject: true } } } as const;
/** Maximum number of people of an account who are told that requests wait for approval. */
const MAX_APPROVERS = 20;
/** Maximum number of people with the same address that a sign-in checks. */
const MAX_NAMESAKES = 100;

/** The users of the console. */
@Injectable()
export class PersonStore {
  private founded = false;

  constructor(
    private readonly prisma: PrismaService,
    private readonly secrets: SecretsConfig,
  ) {}

  /** Addresses of those who may approve requests of the account, of the longest-standing ones. */
  async approvers(accountId: string): Promise<string[]> {
    const where = { accountId, role: { in: APPROVERS }, disabledAt: null, deletedAt: null };
    const rows = await this.prisma.person.findMany({
      where,
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      take: MAX_APPROVERS,
      select: { email: true },
    });
    return rows.map(({ email }) => email);
  }

  /** Whether the first admin exists; once true, it stays true, and the database is not asked again. */
  async hasFounder(): Promise<boolean> {
    if (!this.founded) this.founded = (await this.prisma.person.count({ where: { founder: true } })) > 0;
    return this.founded;
  }

  /** Uses a `first_admin` link; undefined when it can't be used, or when another user was first. */
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

  /**
   * Uses an `invite` link; undefined when it can't be used, or when its address already belongs to a person of the
   * account.
   */
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
   * Uses an `invite` link for a user who already has a sign-in: adds a person to its account with the same sign-in and
   * address, even if the link was for another one. `member` when their address already belongs to a person of the
   * account; undefined when the link can't be used, or their session has ended, or their credentials have changed.
   */
  async createLinked(
    token: string,
    { signInId, email, name, sessionId, credentialsDigest: digest }: SignedIn,
  ): Promise<Person | 'member' | undefined> {
    const wanted = { ...this.link(token), purpose: 'invite', account: { disabledAt: null } };
    const found = await this.prisma.signInLink.findFirst({ where: { ...wanted, usedAt: null } });
    if (found !== null && (await this.hasEmail(found.accountId, email))) return 'member';
    return await writePerson(this.prisma, async (transaction) => {
      // A write, for its lock: see leaveSignIn.
      const holder = { id: signInId, email, signsInAs: null, deletedAt: null };
      const [held] = await transaction.person.updateManyAndReturn({ where: holder, data: { signsInAs: null } });
      if (held === undefined || (digest !== undefined && credentialsDigest(held) !== digest)) return undefined;
      const session = { id: sessionId ?? '', person: withSignIn(signInId) };
      if (sessionId !== undefined && (await transaction.session.count({ where: session })) === 0) return undefined;
      const link = await useLink(transaction, wanted);
      if (link === undefined) return undefined;
      const columns = { id: newPersonId(), accountId: link.accountId, email, name, role: link.role };
      return await transaction.person.create({ data: { ...columns, signsInAs: signInId }, include: SIGN_IN });
    });
  }

  /**
   * Uses a `password` link: sets the credential of its person, and ends the sessions of the sign-in. A link for one
   * account takes the person out of a sign-in that is shared with other accounts, where its creator has no say. An
   * identity removes the password, which may be another user's. The mailbox has to be proven again. Undefined when the
   * link can't be used, or when the identity belongs to another person.
   */
  async resetCredential(token: string, credential: Credential): Promise<Person | undefined> {
    const wanted = { ...this.link(token), purpose: 'password' };
    return await writePerson(this.prisma, async (transaction) => {
      const link = await transaction.signInLink.findFirst({ where: wanted });
      if (link === null || link.email === null) return undefined;
      const { accountId, email, allAccounts } = link;
      const person = await transaction.person.findFirst({ where: { accountId, email } });
      if (person === null) return undefined;
      const signInId = allAccounts ? (person.signsInAs ?? person.id) : person.id;
      if (!(await lockSignIn(transaction, signInId, person.id))) return undefined;
      if ((await useLink(transaction, wanted)) === undefined) return undefined;
      await endPasswordLinks(transaction, email, allAccounts ? withSignIn(signInId) : { id: signInId });
      if (!allAccounts) await leaveSignIn(transaction, person.id);
      await transaction.person.update({ where: { id: signInId }, data: columnsOf(credential, email) });
      await transaction.session.deleteMany({ where: { person: withSignIn(signInId) } });
      if (credential.passwordHash === undefined) await deleteSecondFactors(transaction, { id: signInId });
      return await transaction.person.findUniqueOrThrow({ where: { id: person.id }, include: SIGN_IN });
    });
  }

  /**
   * Replaces a password of a sign-in, and ends all its other sessions and its links for a new password. False when
   * another one has replaced it meanwhile.
   */
  async changePassword(
    signInId: string,
    { from, to }: { readonly from: string; readonly to: string },
    sessionToKeep: string,
  ): Promise<boolean> {
    const others = { person: withSignIn(signInId), id: { not: sessionToKeep } };
    return await this.prisma.$transaction(async (transaction) => {
      const where = { id: signInId, passwordHash: from };
      const [holder] = await transaction.person.updateManyAndReturn({ where, data: { passwordHash: to } });
      if (holder === undefined) return false;
      await endPasswordLinks(transaction, holder.email, withSignIn(signInId));
      await transaction.session.deleteMany({ where: others });
      return true;
    });
  }

  /**
   * People with this email address and a password, most recently seen first, whose sign-in opens at least one account.
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
   * The hash of any password for this address: new passwords for it share the salt, so a sign-in hashes once, however
   * many accounts know the address.
   */
  async saltSource(email: string): Promise<string | undefined> {
    const person = await this.prisma.person.findFirst({
      where: { email, passwordHash: { not: null } },
      orderBy: { id: 'asc' },
    });
    return person?.passwordHash ?? undefined;
  }

  /** The address that a link is for; undefined when it is for anyone, or does not exist. */
  async linkEmail(token: string): Promise<string | undefined> {
    return (await this.prisma.signInLink.findFirst({ where: this.link(token) }))?.email ?? undefined;
  }

  /** Whether a person of the account has the address. */
  async hasEmail(accountId: string, email: string): Promise<boolean> {
    return (await this.prisma.person.count({ where: { accountId, email } })) > 0;
  }

  /** All people of an account, or of all accounts, without deleted ones, oldest first. */
  async list(accountId?: string): Promise<Person[]> {
    const rows = await this.prisma.person.findMany({
      where: { deletedAt: null, ...(accountId !== undefined && { accountId }) },
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      include: SIGN_IN,
    });
    return rows.map(personOf);
  }

  /** A person of an account; undefined when there is no such person. */
  async find(accountId: string, id: string): Promise<Person | undefined> {
    const row = await this.prisma.person.findFirst({ where: { id, accountId, deletedAt: null }, include: SIGN_IN });
    return row === null ? undefined : personOf(row);
  }

  /** Those of these ids that the account has, including deleted people. */
  async existing(accountId: string, ids: readonly string[]): Promise<string[]> {
    const where = { id: { in: inList(ids) }, accountId };
    return (await this.prisma.person.findMany({ where, select: { id: true } })).map(({ id }) => id);
  }

  /**
   * Changes a person of an account, and ends their sessions when they are disabled or deleted. Refuses a change that
   * would leave the account without an admin or an owner. Admins are locked before they are counted, so when two admins
   * demote each other at once, the second sees the first one's change.
   */
  async change(
    accountId: string,
    id: string,
    { role, disabled, deleted }: PersonChange,
  ): Promise<Person | 'unknown' | 'last_admin' | 'last_owner'> {
    return await this.prisma.$transaction(async (transaction) => {
      // Rewriting their values locks the rows; the account is locked first, to prevent deadlocks.
      await lockAccount(transaction, accountId);
      const admins = await transaction.person.updateManyAndReturn({
        where: { accountId, role: 'admin', disabledAt: null },
        data: { role: 'admin' },
        select: { id: true, owner: true },
      });
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
        await deleteSecondFactors(transaction, { id });
      }
      if (isOut) await transaction.session.deleteMany({ where: { personId: id } });
      return personOf(person);
    });
  }

  /** Whether people of other accounts share the sign-in. */
  async sharesSignIn({ id, signInId }: Person): Promise<boolean> {
    return signInId !== id || (await this.prisma.person.count({ where: { signsInAs: id, deletedAt: null } })) > 0;
  }

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

/**
 * The person that a transaction creates or changes; undefined when there is none, or when a unique value is already
 * taken.
 */
export async function writePerson(
  prisma: PrismaService,
  work: (transaction: Transaction) => Promise<PersonRow | undefined>,
): Promise<Person | undefined> {
  try {
    const row = await prisma.$transaction(work);
    return row === undefined ? undefined : personOf(row);
  } catch (error) {
    // The transaction was rolled back, so the link can still be used.
    if (isUniqueViolation(error)) return undefined;
    throw error;
  }
}

/** Ends links for a new password in the accounts of these people, who share an address. */
async function endPasswordLinks(
  transaction: Transaction,
  email: string,
  people: Prisma.PersonWhereInput,
): Promise<void> {
  const where = { purpose: 'password', email, usedAt: null, account: { people: { some: people } } };
  await transaction.signInLink.updateMany({ where, data: { usedAt: new Date() } });
}

/** As rows have them. */
const APPROVERS = ABILITIES['tasks.approve'].roles.map((role) => roleColumns(role).role);
const LINK_MAKERS = ABILITIES['team.manage'].roles.map((role) => roleColumns(role).role);

type CheckedLink = Pick<SignInLink, 'madeBy' | 'purpose' | 'accountId' | 'email'>;

/**
 * The links whose creators may still create them: a link ends when its creator loses the right to create it. Only an
 * owner's link changes the password of an owner. Links without a creator, requested by their user or by the operator,
 * stay.
 */
export async function stillValid<Link extends CheckedLink>(
  { person }: Pick<Transaction, 'person'>,
  links: readonly Link[],
): Promise<Link[]> {
  const ids = links.flatMap(({ madeBy }) => madeBy ?? []);
  if (ids.length === 0) return [...links];
  const rights = { role: { in: LINK_MAKERS }, disabledAt: null, deletedAt: null, account: { disabledAt: null } };
  const makers = await person.findMany({ where: { id: { in: ids }, ...rights } });
  const resets = links.filter(({ purpose }) => purpose === 'password');
  const users = resets.map(({ accountId, email }) => ({ accountId, email: email ?? '' }));
  const owners = users.length === 0 ? [] : await person.findMany({ where: { OR: users, owner: true } });
  return links.filter(({ madeBy, purpose, accountId, email }) => {
    if (madeBy === null) return true;
    const isForOwner =
      purpose === 'password' && owners.some((owner) => owner.accountId === accountId && owner.email === email);
    return makers.some(({ id, owner }) => id === madeBy && (owner || !isForOwner));
  });
}

/** Uses a link that still works; of two concurrent requests, only one gets it. */
export async function useLink(transaction: Transaction, where: Prisma.SignInLinkWhereInput) {
  const now = new Date();
  const [link] = await transaction.signInLink.updateManyAndReturn({
    where: { ...where, usedAt: null, expiresAt: { gt: now } },
    data: { usedAt: now },
  });
  return link === undefined ? undefined : (await stillValid(transaction, [link]))[0];
}

type CredentialColumns = Pick<PersonRow, 'passwordHash' | 'openidSubject'>;

/** A person's row as the console shows it. */
export function personOf(row: PersonRow & { readonly signIn?: CredentialColumns | null }): Person {
  const { id, accountId, email, name, createdAt, seenAt, disabledAt } = row;
  const credentials = row.signIn ?? row;
  const { passwordHash, openidSubject } = credentials;
  return {
    id,
    accountId,
    email,
    name,
    role: roleOf(row),
    createdAt,
    seenAt,
    disabledAt,
    credentialsDigest: credentialsDigest(credentials),
    hasPassword: passwordHash !== null,
    hasIdentity: openidSubject !== null,
    signInId: row.signsInAs ?? id,
  };
}

/** The columns of a deleted person: the name stays, for the audit log and for what they created. */
export function erasedPerson(id: string) {
  const now = new Date();
  return {
    email: `deleted:${id.toLowerCase()}`,
    emailVerifiedAt: null,
    passwordHash: null,
    openidIssuer: null,
    openidSubject: null,
    signsInAs: null,
    userHandle: null,
    taskViews: NO_JSON,
    owner: false,
    disabledAt: now,
    deletedAt: now,
  };
}

/** A new id, `person_` and a ULID, so ids sort by creation time. */
export function newPersonId(): string {
  return `person_${ulid()}`;
}

/** The columns that a credential sets; a password does not remove an identity. */
function columnsOf({ passwordHash, identity, vouchedEmail }: Credential, email: string) {
  const openid = identity && { openidIssuer: identity.issuer, openidSubject: identity.subject };
  const emailVerifiedAt = vouchedEmail === email ? new Date() : null;
  return { passwordHash: passwordHash ?? null, emailVerifiedAt, ...openid };
}
