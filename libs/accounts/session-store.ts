import { Injectable } from '@nestjs/common';
import { ulid } from 'ulid';
import { PrismaService } from '#database/prisma.service.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { roleOf, type Role } from './person-rules.js';
import { newToken, tokenColumns, tokenHashes } from './tokens.js';

/** A session ends this long after its last request, and this long after its sign-in, whichever is first. */
const IDLE_HOURS = 12;
export const MAX_AGE_DAYS = 7;
/** The time of the last request is kept to the minute. */
const TOUCH_MS = 60_000;
const MAX_USER_AGENT = 200;
const HOUR_MS = 3_600_000;

/** Who a request of the console is made by. */
export interface Session {
  readonly id: string;
  readonly personId: string;
  readonly accountId: string;
  readonly accountName: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  /** What the person may sign in with. */
  readonly hasPassword: boolean;
  readonly hasIdentity: boolean;
}

/** A session as its person sees it, to tell one device from another. */
export interface SessionRow {
  readonly id: string;
  readonly userAgent: string;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
}

/** Browsers that are signed in. */
@Injectable()
export class SessionStore {
  constructor(
    private readonly prisma: PrismaService,
    private readonly secrets: SecretsConfig,
  ) {}

  /** Begins a session; the token is for the cookie alone. Sessions of the person that are over are removed. */
  async begin(personId: string, userAgent: string): Promise<{ id: string; token: string }> {
    const [id, token, now] = [`session_${ulid()}`, newToken(), new Date()];
    await this.prisma.$transaction([
      this.prisma.session.deleteMany({ where: { personId, NOT: aliveSessions() } }),
      this.prisma.person.updateMany({ where: { id: personId }, data: { seenAt: now } }),
      this.prisma.session.create({
        data: {
          ...{ id, personId, createdAt: now, lastSeenAt: now },
          ...tokenColumns(this.secrets, 'session', token),
          userAgent: userAgent.replaceAll('\u0000', '').slice(0, MAX_USER_AGENT),
          expiresAt: new Date(now.getTime() + MAX_AGE_DAYS * 24 * HOUR_MS),
        },
      }),
    ]);
    return { id, token };
  }

  /** The session behind a cookie; undefined when it is over, unknown, or its person may not come in. */
  async find(token: string): Promise<Session | undefined> {
    const row = await this.prisma.session.findFirst({
      where: {
        ...aliveSessions(),
        tokenHash: { in: tokenHashes(this.secrets, 'session', token) },
        person: { disabledAt: null, account: { disabledAt: null } },
      },
      include: { person: { include: { account: { select: { name: true } } } } },
    });
    if (row === null) return undefined;
    const { id, personId, lastSeenAt, person } = row;
    await this.renewHash(token, row);
    if (Date.now() - lastSeenAt.getTime() > TOUCH_MS) await this.touch(id, personId);
    const { accountId, account, email, name, passwordHash, openidSubject } = person;
    return {
      ...{ id, personId, accountId, accountName: account.name, email, name, role: roleOf(person) },
      ...{ hasPassword: passwordHash !== null, hasIdentity: openidSubject !== null },
    };
  }

  /** The sessions of a person that are alive, newest first. */
  async list(personId: string): Promise<SessionRow[]> {
    return await this.prisma.session.findMany({
      where: { ...aliveSessions(), personId },
      select: { id: true, userAgent: true, createdAt: true, lastSeenAt: true },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    });
  }

  /** Ends a session of a person; false when they have no such session. */
  async end(personId: string, id: string): Promise<boolean> {
    const { count } = await this.prisma.session.deleteMany({ where: { id, personId } });
    return count === 1;
  }

  /** A session that is used goes over to this SECRET_KEY, so that the one before it can go one day. */
  private async renewHash(token: string, { id, secretId }: { id: string; secretId: string | null }): Promise<void> {
    const columns = tokenColumns(this.secrets, 'session', token);
    if (secretId === columns.secretId) return;
    // It works as it is; the next request tries again.
    await this.prisma.session.updateMany({ where: { id, secretId }, data: columns }).catch(() => undefined);
  }

  private async touch(id: string, personId: string): Promise<void> {
    const now = new Date();
    await this.prisma.$transaction([
      this.prisma.person.updateMany({ where: { id: personId }, data: { seenAt: now } }),
      this.prisma.session.updateMany({ where: { id }, data: { lastSeenAt: now } }),
    ]);
  }
}

/** Sessions that are not over. */
export function aliveSessions() {
  const now = Date.now();
  return { expiresAt: { gt: new Date(now) }, lastSeenAt: { gt: new Date(now - IDLE_HOURS * HOUR_MS) } };
}
