import { Injectable } from '@nestjs/common';
import { ulid } from 'ulid';
import type { Prisma } from '#database/generated/client.js';
import { PrismaService } from '#database/prisma.service.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { roleOf, type Role } from './person-rules.js';
import type { Person } from './person-store.js';
import { CAN_ENTER, credentialsDigest, withSignIn } from './shared-sign-in.js';
import { newToken, tokenColumns, tokenHashes } from './tokens.js';

/** A session ends this long after its last request, or this long after its sign-in, whichever is first. */
const IDLE_HOURS = 12;
export const MAX_AGE_DAYS = 7;
/** The time of the last request is updated once a minute. */
const TOUCH_MS = 60_000;
const MAX_USER_AGENT = 200;
const HOUR_MS = 3_600_000;
const WITH_PERSON = {
  person: { include: { account: { select: { name: true, requireTwoFactor: true } }, signIn: true } },
} satisfies Prisma.SessionInclude;

type SessionWithPerson = Prisma.SessionGetPayload<{ include: typeof WITH_PERSON }>;

/** The user who makes a request of the console. */
export interface Session {
  readonly id: string;
  readonly personId: string;
  /** The person who holds their sign-in: themselves, or a person of another account. */
  readonly signInId: string;
  readonly accountId: string;
  readonly accountName: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  /** Ways to sign in. */
  readonly hasPassword: boolean;
  /** Whether their account requires two-factor authentication and they have not set it up. */
  readonly lacksTwoFactor: boolean;
  readonly hasIdentity: boolean;
  /** When they last signed in, or confirmed their password, in it. */
  readonly provenAt: Date;
}

/** An account that a user may open, and their person there. */
export interface Membership {
  readonly personId: string;
  readonly accountId: string;
  readonly accountName: string;
  readonly role: Role;
}

/** A session as its user sees it, to tell devices apart. */
export interface SessionRow {
  readonly id: string;
  readonly userAgent: string;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
}

/** Sessions of signed-in browsers. */
@Injectable()
export class SessionStore {
  constructor(
    private readonly prisma: PrismaService,
    private readonly secrets: SecretsConfig,
  ) {}

  /** Starts a session; the token is only for the cookie. Removes ended sessions of the person. */
  async begin(personId: string, userAgent: string): Promise<{ id: string; token: string }> {
    const id = `session_${ulid()}`;
    const token = newToken();
    const now = new Date();
    await this.prisma.$transaction([
      this.prisma.person.updateMany({ where: { id: personId }, data: { seenAt: now } }),
      this.prisma.session.deleteMany({ where: { personId, NOT: aliveSessions() } }),
      this.prisma.session.create({
        data: {
          id,
          personId,
          createdAt: now,
          lastSeenAt: now,
          ...tokenColumns(this.secrets, 'session', token),
          userAgent: userAgent.replaceAll('\u0000', '').slice(0, MAX_USER_AGENT),
          expiresAt: new Date(now.getTime() + MAX_AGE_DAYS * 24 * HOUR_MS),
        },
      }),
    ]);
    return { id, token };
  }

  /**
   * Whether a sign-in still has the credentials that a new session was opened with. Waits for a change in progress, which
   * may not see the session; a later one ends it.
   */
  async isCurrent({ signInId, credentialsDigest: digest }: Person): Promise<boolean> {
    // A write, for its lock.
    const [holder] = await this.prisma.person.updateManyAndReturn({
      where: { id: signInId, signsInAs: null },
      data: { signsInAs: null },
      select: { passwordHash: true, openidSubject: true },
    });
    return holder !== undefined && credentialsDigest(holder) === digest;
  }

  /** The session of a cookie; undefined when it is unknown or has ended, or when its person can't enter the account. */
  async find(token: string): Promise<Session | undefined> {
    const row = await this.findRow({ tokenHash: { in: tokenHashes(this.secrets, 'session', token) } });
    if (row === null) return undefined;
    await this.renewHash(token, row);
    if (Date.now() - row.lastSeenAt.getTime() > TOUCH_MS) await this.touch(row.id, row.personId);
    return await this.sessionOf(row);
  }

  /** The accounts that the user of a sign-in may open, by name. */
  async accounts(signInId: string): Promise<Membership[]> {
    const people = await this.prisma.person.findMany({
      where: { ...withSignIn(signInId), ...CAN_ENTER },
      include: { account: { select: { name: true } } },
      orderBy: [{ account: { name: 'asc' } }, { id: 'asc' }],
    });
    return people.map(({ id: personId, accountId, account, ...row }) => {
      return { personId, accountId, accountName: account.name, role: roleOf(row) };
    });
  }

  /** The person whom the user last acted as, of those who can enter their account; the given one when there is none. */
  async lastUsed(signInId: string): Promise<string> {
    const last = await this.prisma.person.findFirst({
      where: { ...withSignIn(signInId), ...CAN_ENTER },
      orderBy: [{ seenAt: { sort: 'desc', nulls: 'last' } }, { id: 'asc' }],
      select: { id: true },
    });
    return last?.id ?? signInId;
  }

  /**
   * Switches a session to another account of the user. Undefined when the user can't open that account, or the session
   * has ended. The token stays: with a new one, requests in flight would be answered as signed out.
   */
  async move({ id, personId, signInId }: Session, accountId: string): Promise<Session | undefined> {
    const where = { accountId, ...withSignIn(signInId), ...CAN_ENTER };
    const target = await this.prisma.person.findFirst({ where, select: { id: true } });
    if (target === null) return undefined;
    const now = new Date();
    const isMoved = await this.prisma.$transaction(async ({ person, session }) => {
      // First, for its lock: removing the person from the sign-in at the same time ends this session either way.
      const member = { id: target.id, ...withSignIn(signInId) };
      const { count } = await person.updateMany({ where: member, data: { seenAt: now } });
      if (count === 0) return false;
      const data = { personId: target.id, lastSeenAt: now };
      return (await session.updateMany({ where: { id, personId }, data })).count === 1;
    });
    const row = isMoved ? await this.findRow({ id }) : null;
    return row === null ? undefined : await this.sessionOf(row);
  }

  /** The active sessions of a sign-in, newest first. */
  async list(signInId: string): Promise<SessionRow[]> {
    return await this.prisma.session.findMany({
      where: { ...aliveSessions(), person: withSignIn(signInId) },
      select: { id: true, userAgent: true, createdAt: true, lastSeenAt: true },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    });
  }

  /** Ends a session of a sign-in; false when it has no such session. */
  async end(signInId: string, id: string): Promise<boolean> {
    const { count } = await this.prisma.session.deleteMany({ where: { id, person: withSignIn(signInId) } });
    return count === 1;
  }

  /** Records that the user has just confirmed who they are. */
  async prove(id: string): Promise<void> {
    await this.prisma.session.updateMany({ where: { id }, data: { provenAt: new Date() } });
  }

  /** Ends a session, even if its person now belongs to another sign-in. */
  async discard(id: string): Promise<void> {
    await this.prisma.session.deleteMany({ where: { id } });
  }

  private async findRow(where: Prisma.SessionWhereInput): Promise<SessionWithPerson | null> {
    return await this.prisma.session.findFirst({
      where: { ...aliveSessions(), ...where, person: CAN_ENTER },
      include: WITH_PERSON,
    });
  }

  private async sessionOf({ id, personId, person, createdAt, provenAt }: SessionWithPerson): Promise<Session> {
    const { accountId, account, email, name } = person;
    const { id: signInId, passwordHash, openidSubject } = person.signIn ?? person;
    const hasPassword = passwordHash !== null;
    return {
      id,
      personId,
      signInId,
      accountId,
      accountName: account.name,
      email,
      name,
      role: roleOf(person),
      hasPassword,
      hasIdentity: openidSubject !== null,
      provenAt: provenAt ?? createdAt,
      lacksTwoFactor: account.requireTwoFactor && hasPassword && !(await this.hasTwoFactor(signInId)),
    };
  }

  /** Rehashes the token with the current SECRET_KEY, so that the previous one can be removed. */
  private async renewHash(token: string, { id, secretId }: { id: string; secretId: string }): Promise<void> {
    const columns = tokenColumns(this.secrets, 'session', token);
    if (secretId === columns.secretId) return;
    // The session works with either hash; the next request tries again.
    await this.prisma.session.updateMany({ where: { id, secretId }, data: columns }).catch(() => undefined);
  }

  private async hasTwoFactor(signInId: string): Promise<boolean> {
    const where = { personId: signInId, confirmedAt: { not: null } };
    return (await this.prisma.secondFactor.count({ where })) > 0;
  }

  private async touch(id: string, personId: string): Promise<void> {
    const now = new Date();
    await this.prisma.$transaction([
      this.prisma.person.updateMany({ where: { id: personId }, data: { seenAt: now } }),
      this.prisma.session.updateMany({ where: { id }, data: { lastSeenAt: now } }),
    ]);
  }
}

/** Whether a text has the form of a session token. */
export function isSessionToken(text: string): boolean {
  return /^[\w-]{43}$/.test(text);
}

/** Filter for sessions that have not ended. */
export function aliveSessions() {
  return { expiresAt: { gt: new Date() }, lastSeenAt: { gt: idleSince() } };
}

/** Sessions whose last request was then, or before, are over. */
export function idleSince(): Date {
  return new Date(Date.now() - IDLE_HOURS * HOUR_MS);
}
