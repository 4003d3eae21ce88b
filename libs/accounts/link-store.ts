import { Injectable } from '@nestjs/common';
import { ulid } from 'ulid';
import { PrismaService } from '#database/prisma.service.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { DEFAULT_ACCOUNT } from './api-keys.js';
import { invitedRoleOf, roleColumns, type InvitedRole } from './person-rules.js';
import { stillValid, type Person } from './person-store.js';
import { newToken, tokenColumns, tokenHashes } from './tokens.js';

/** How long a link works. */
export const LINK_HOURS = 24;

/** An invitation that has not been accepted yet. */
export interface Invitation {
  readonly id: string;
  readonly email: string;
  readonly role: InvitedRole;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** Purposes of links: become the first admin, join an account, choose a new password. */
export const LINK_PURPOSES = ['first_admin', 'invite', 'password'] as const;
export type LinkPurpose = (typeof LINK_PURPOSES)[number];

/** A link that can be used. */
interface OpenLink {
  /** Address of its user; null = anyone who has the link. */
  readonly email: string | null;
  /** Name of its account. */
  readonly account: string;
}

interface LinkFor {
  readonly purpose: LinkPurpose;
  readonly accountId?: string;
  /** Address of its user, as `storedEmailOf` spells it; null = anyone who has the link. */
  readonly email?: string | null;
  readonly role?: InvitedRole;
  /** Person who makes it for somebody else: the link works for as long as they may make one. */
  readonly madeBy?: string | null;
  /** For password links: whether the new password is for all accounts of the user, or for this one only. */
  readonly allAccounts?: boolean;
}

/** The console page for each kind of link; the token is in the fragment, which browsers never send. */
const PAGES = { first_admin: 'first-run', invite: 'invite', password: 'reset-password' } as const;

/** One-time links: to join an account, or to choose a new password. A link is returned as its path. */
@Injectable()
export class LinkStore {
  constructor(
    private readonly prisma: PrismaService,
    private readonly secrets: SecretsConfig,
  ) {}

  /**
   * Creates a link that works once, for 24 hours; its token can be read only in the result. It replaces an unused link
   * of the same purpose for the same person; of first-admin links, only the newest works.
   */
  async create(wanted: LinkFor): Promise<string> {
    const {
      purpose,
      accountId = DEFAULT_ACCOUNT,
      email = null,
      role = 'admin',
      allAccounts = false,
      madeBy = null,
    } = wanted;
    const token = newToken();
    const now = new Date();
    const link = { purpose, accountId, email };
    await this.prisma.$transaction([
      this.prisma.signInLink.deleteMany({ where: { ...link, usedAt: null } }),
      this.prisma.signInLink.create({
        data: {
          ...link,
          id: `link_${ulid()}`,
          role,
          allAccounts,
          madeBy,
          createdAt: now,
          ...tokenColumns(this.secrets, 'link', token),
          expiresAt: new Date(now.getTime() + LINK_HOURS * 3_600_000),
        },
      }),
    ]);
    return `/console/${PAGES[purpose]}#token=${token}`;
  }

  /** A link, unless it was used, has expired, is no longer needed, or its maker may no longer make it. */
  async findOpen(token: string, purpose: LinkPurpose): Promise<OpenLink | undefined> {
    const link = await this.prisma.signInLink.findFirst({
      where: {
        purpose,
        tokenHash: { in: tokenHashes(this.secrets, 'link', token) },
        usedAt: null,
        expiresAt: { gt: new Date() },
        account: { disabledAt: null },
      },
      select: { accountId: true, email: true, purpose: true, madeBy: true, account: { select: { name: true } } },
    });
    if (link === null || (await stillValid(this.prisma, [link])).length === 0) return undefined;
    const { accountId, email, account } = link;
    const done = purpose === 'invite' ? { accountId, email: email ?? '' } : { founder: true };
    if (purpose !== 'password' && (await this.prisma.person.count({ where: done })) > 0) return undefined;
    return { email, account: account.name };
  }

  /**
   * Why a link is closed; undefined when its row is gone, or when it is no longer needed. `ended`: a password link that
   * was used, or that another new password has ended. `maker`: the user who created it may no longer do so.
   */
  async closedReason(token: string, purpose: LinkPurpose): Promise<'used' | 'ended' | 'expired' | 'maker' | undefined> {
    const link = await this.prisma.signInLink.findFirst({
      where: { purpose, tokenHash: { in: tokenHashes(this.secrets, 'link', token) } },
      select: { accountId: true, email: true, purpose: true, madeBy: true, usedAt: true, expiresAt: true },
    });
    if (link === null) return undefined;
    if (link.usedAt !== null) return purpose === 'password' ? 'ended' : 'used';
    if (link.expiresAt <= new Date()) return 'expired';
    return (await stillValid(this.prisma, [link])).length === 0 ? 'maker' : undefined;
  }

  /** Creates a link to join an account, once, within 24 hours; an older one for the same address ends. */
  async invite(
    accountId: string,
    { email, role }: Pick<Invitation, 'email' | 'role'>,
    madeBy: string | null,
  ): Promise<string> {
    return await this.create({ purpose: 'invite', accountId, email, role, madeBy });
  }

  /**
   * Creates a link to choose a new password, once, within 24 hours; an older one ends. `allAccounts` is for users who
   * requested it from their own mailbox, and for the operator's command: an admin (`madeBy`) has no say in other accounts.
   */
  async resetPassword(
    { accountId, email, role }: Person,
    by: { readonly allAccounts: boolean } | { readonly madeBy: string },
  ): Promise<string> {
    return await this.create({ purpose: 'password', accountId, email, role: roleColumns(role).role, ...by });
  }

  /** The unused invitations of an account whose makers may still invite, including expired ones, oldest first. */
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
    return (await stillValid(this.prisma, rows)).flatMap(({ email, ...row }) =>
      email === null || known.some((person) => person.email === email)
        ? []
        : [{ id: row.id, email, role: invitedRoleOf(row.role), createdAt: row.createdAt, expiresAt: row.expiresAt }],
    );
  }

  /** Revokes an unused invitation of an account; undefined when there is none. */
  async withdraw(accountId: string, id: string): Promise<Invitation | undefined> {
    const invitation = (await this.invitations(accountId)).find((one) => one.id === id);
    if (invitation === undefined) return undefined;
    const { count } = await this.prisma.signInLink.deleteMany({ where: { id, accountId, usedAt: null } });
    return count === 1 ? invitation : undefined;
  }
}
