import { Injectable } from '@nestjs/common';
import { ulid } from 'ulid';
import { PrismaService } from '#database/prisma.service.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { DEFAULT_ACCOUNT } from './api-keys.js';
import { invitedRoleOf, roleColumns, type InvitedRole } from './person-rules.js';
import type { Person } from './person-store.js';
import { newToken, tokenColumns, tokenHashes } from './tokens.js';

/** How long a link works. */
export const LINK_HOURS = 24;

/** Somebody who was asked to join, and has not yet. */
export interface Invitation {
  readonly id: string;
  readonly email: string;
  readonly role: InvitedRole;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** What links are for: to become the first admin, to join an account, to choose a new password. */
export const LINK_PURPOSES = ['first_admin', 'invite', 'password'] as const;
export type LinkPurpose = (typeof LINK_PURPOSES)[number];

/** A link that still works. */
interface OpenLink {
  /** Whom it is for; null = whoever holds it. */
  readonly email: string | null;
  /** Name of the account that it opens. */
  readonly account: string;
}

interface LinkFor {
  readonly purpose: LinkPurpose;
  readonly accountId?: string;
  /** Whom it is for, as `storedEmailOf` spells it; null = whoever holds it. */
  readonly email?: string | null;
  readonly role?: InvitedRole;
  /** Of a link for a new password: for all accounts of the user; otherwise for this one alone. */
  readonly allAccounts?: boolean;
}

/** Where the console's pages take each kind of link; the token is a fragment, which browsers never send. */
const PAGES = { first_admin: 'first-run', invite: 'invite', password: 'reset-password' } as const;

/** The links that people are sent: to join an account, and to choose a new password. A link is told as its path. */
@Injectable()
export class LinkStore {
  constructor(
    private readonly prisma: PrismaService,
    private readonly secrets: SecretsConfig,
  ) {}

  /**
   * Makes a link that works once, for 24 hours. The answer is the only place where it can be read. It takes the place of
   * an unused one of the same purpose for the same person; of links for the first admin only the newest works.
   */
  async create(wanted: LinkFor): Promise<string> {
    const { purpose, accountId = DEFAULT_ACCOUNT, email = null, role = 'admin', allAccounts = false } = wanted;
    const [token, now] = [newToken(), new Date()];
    const link = { purpose, accountId, email };
    await this.prisma.$transaction([
      this.prisma.signInLink.deleteMany({ where: { ...link, usedAt: null } }),
      this.prisma.signInLink.create({
        data: {
          ...{ ...link, id: `link_${ulid()}`, role, allAccounts, createdAt: now },
          ...tokenColumns(this.secrets, 'link', token),
          expiresAt: new Date(now.getTime() + LINK_HOURS * 3_600_000),
        },
      }),
    ]);
    return `/console/${PAGES[purpose]}#token=${token}`;
  }

  /** A link, unless it was used, its time is over, or what it is for was done without it. */
  async findOpen(token: string, purpose: LinkPurpose): Promise<OpenLink | undefined> {
    const link = await this.prisma.signInLink.findFirst({
      where: {
        ...{ purpose, tokenHash: { in: tokenHashes(this.secrets, 'link', token) } },
        ...{ usedAt: null, expiresAt: { gt: new Date() }, account: { disabledAt: null } },
      },
      select: { accountId: true, email: true, account: { select: { name: true } } },
    });
    if (link === null) return undefined;
    const { accountId, email, account } = link;
    const done = purpose === 'invite' ? { accountId, email: email ?? '' } : { founder: true };
    if (purpose !== 'password' && (await this.prisma.person.count({ where: done })) > 0) return undefined;
    return { email, account: account.name };
  }

  /** Why a link that is not open does not work; undefined where its row is gone, or what it is for was done without it. */
  async whyClosed(token: string, purpose: LinkPurpose): Promise<'used' | 'expired' | undefined> {
    const link = await this.prisma.signInLink.findFirst({
      where: { purpose, tokenHash: { in: tokenHashes(this.secrets, 'link', token) } },
      select: { usedAt: true, expiresAt: true },
    });
    if (link === null) return undefined;
    if (link.usedAt !== null) return 'used';
    return link.expiresAt <= new Date() ? 'expired' : undefined;
  }

  /** A link with which somebody joins an account, once, within 24 hours; an older one for them ends. */
  async invite(accountId: string, { email, role }: Pick<Invitation, 'email' | 'role'>): Promise<string> {
    return await this.create({ purpose: 'invite', accountId, email, role });
  }

  /**
   * A link with which a person chooses a new password, once, within 24 hours; an older one ends. `allAccounts` is for whoever
   * has asked for it from their own mailbox, and for the operator's command: an admin has no say in other accounts.
   */
  async resetPassword({ accountId, email, role }: Person, allAccounts = false): Promise<string> {
    return await this.create({ purpose: 'password', accountId, email, role: roleColumns(role).role, allAccounts });
  }

  /** The open invitations of an account, also those whose time is over, oldest first. */
  async invitations(accountId: string): Promise<Invitation[]> {
    const rows = await this.prisma.signInLink.findMany({
      where: { accountId, purpose: 'invite', usedAt: null },
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    });
    const emails = rows.flatMap(({ email }) => email ?? []);
    const known = await this.prisma.person.findMany({
      where: { accountId, email: { in: emails } },
      select: { email: true },
    });
    return rows.flatMap(({ email, ...row }) =>
      email === null || known.some((person) => person.email === email)
        ? []
        : [{ id: row.id, email, role: invitedRoleOf(row.role), createdAt: row.createdAt, expiresAt: row.expiresAt }],
    );
  }

  /** Ends an open invitation of an account; undefined when there is none. */
  async withdraw(accountId: string, id: string): Promise<Invitation | undefined> {
    const invitation = (await this.invitations(accountId)).find((one) => one.id === id);
    if (invitation === undefined) return undefined;
    const { count } = await this.prisma.signInLink.deleteMany({ where: { id, accountId, usedAt: null } });
    return count === 1 ? invitation : undefined;
  }
}
