import { Injectable } from '@nestjs/common';
import { createHash, timingSafeEqual } from 'node:crypto';
import { PrismaService } from '#database/prisma.service.js';
import type { Transaction } from '#database/queryable.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { AuditLog } from './audit-log.js';
import { newToken, tokenColumns, tokenHashes } from './tokens.js';

/** How long the tokens work, in seconds. A refresh token gets new ones with a lifetime of their own. */
const CODE_SECONDS = 60;
export const ACCESS_SECONDS = 3_600;
const REFRESH_SECONDS = 90 * 86_400;
/** A client that lost the answer may send a used refresh token again, for so long. */
const REPEAT_MS = 30_000;
/** How long a used code or refresh token is known, so that a second use of it shows. */
const USED_MS = 7 * 86_400_000;

const PREFIXES = { code: 'dr-ac-', access: 'dr-at-', refresh: 'dr-rt-' } as const;
type Kind = keyof typeof PREFIXES;
const TOKEN = /^dr-(?:ac|at|rt)-[\w-]{43}$/;

/** What a client gets for its key. */
export interface IssuedTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** A code that is sent back to a client. */
interface NewCode {
  readonly keyId: string;
  readonly clientId: string;
  readonly redirectUri: string;
  /** SHA-256 of the client's verifier, in base64url. */
  readonly codeChallenge: string;
}

/**
 * The tokens of clients that users have authorized: a code, which is exchanged once, access tokens, and refresh tokens,
 * each of which is exchanged for the next. They are stored as HMACs, and end with their key and its person.
 */
@Injectable()
export class ClientTokens {
  constructor(
    private readonly prisma: PrismaService,
    private readonly secrets: SecretsConfig,
    private readonly audit: AuditLog,
  ) {}

  /** A code for the client of a new key. */
  async newCode(transaction: Transaction, { keyId, clientId, ...code }: NewCode): Promise<string> {
    return await this.insert(transaction, 'code', { keyId, clientHash: digestOf(clientId), ...code });
  }

  /** Exchanges a code. A second exchange revokes the key, because somebody else may have made the first one. */
  async exchange(
    code: string,
    sent: { readonly clientId: string; readonly redirectUri: string; readonly verifier: string },
  ): Promise<IssuedTokens | undefined> {
    const row = await this.find('code', code, sent.clientId);
    if (row === undefined) return undefined;
    const { keyId, redirectUri, codeChallenge, expiresAt } = row;
    const isSame = redirectUri === sent.redirectUri && isVerifierOf(codeChallenge ?? '', sent.verifier);
    const isGood = isSame && expiresAt > new Date();
    if (!(await this.use(row, isGood ? new Date(Date.now() + USED_MS) : expiresAt))) {
      await this.end(keyId, 'a second use of a code');
      return undefined;
    }
    if (!isGood || !(await this.isAlive(keyId))) return undefined;
    return await this.issue(keyId, sent.clientId);
  }

  /**
   * Exchanges a refresh token for new tokens. One that was used before, longer ago than a client takes to repeat a lost
   * call, was stolen by either of its two senders, so the key is revoked.
   */
  async refresh(token: string, clientId: string): Promise<IssuedTokens | undefined> {
    const row = await this.find('refresh', token, clientId);
    if (row === undefined || row.expiresAt <= new Date()) return undefined;
    const { keyId, usedAt } = row;
    if (usedAt !== null && Date.now() - usedAt.getTime() > REPEAT_MS) {
      await this.end(keyId, 'a second use of a refresh token');
      return undefined;
    }
    if (!(await this.isAlive(keyId))) return undefined;
    // Of two simultaneous calls with one token, each gets tokens of its own, as a repetition does.
    const issued = await this.issue(keyId, clientId);
    // Last, so that a token that got nothing for want of a database is still good, however late it comes again.
    await this.use(row, new Date(Date.now() + USED_MS));
    return issued;
  }

  /** Ends an access token, or with a refresh token all of its key. */
  async revoke(token: string, clientId: string): Promise<void> {
    const access = await this.find('access', token, clientId);
    if (access !== undefined) await this.prisma.oAuthToken.deleteMany({ where: { hash: access.hash } });
    const refresh = await this.find('refresh', token, clientId);
    if (refresh !== undefined) await this.end(refresh.keyId, 'its client');
  }

  /** The row of the key of an access token, with its account, which ends with the token; undefined when there is none. */
  async keyOf(token: string) {
    const row = await this.prisma.oAuthToken.findFirst({
      where: { hash: { in: this.hashesOf(token) }, kind: 'access', expiresAt: { gt: new Date() } },
      include: { key: { include: { account: true } } },
    });
    if (row === null || !(await this.isOfPerson(row.key))) return undefined;
    const { key, expiresAt } = row;
    return { ...key, expiresAt: key.expiresAt !== null && key.expiresAt < expiresAt ? key.expiresAt : expiresAt };
  }

  private async issue(keyId: string, clientId: string): Promise<IssuedTokens> {
    const owner = { keyId, clientHash: digestOf(clientId) };
    return await this.prisma.$transaction(async (transaction) => {
      // So that a client that asks for new ones all the time leaves no more than work.
      await transaction.oAuthToken.deleteMany({ where: { keyId, expiresAt: { lte: new Date() } } });
      const accessToken = await this.insert(transaction, 'access', owner);
      return { accessToken, refreshToken: await this.insert(transaction, 'refresh', owner) };
    });
  }

  private async insert(
    transaction: Transaction,
    kind: Kind,
    columns: {
      readonly keyId: string;
      readonly clientHash: Uint8Array<ArrayBuffer>;
      readonly redirectUri?: string;
      readonly codeChallenge?: string;
    },
  ): Promise<string> {
    const token = PREFIXES[kind] + newToken();
    const seconds = { code: CODE_SECONDS, access: ACCESS_SECONDS, refresh: REFRESH_SECONDS }[kind];
    const { tokenHash: hash, secretId } = tokenColumns(this.secrets, 'client token', token);
    const expiresAt = new Date(Date.now() + seconds * 1_000);
    await transaction.oAuthToken.create({ data: { hash, secretId, kind, expiresAt, ...columns } });
    return token;
  }

  private async find(kind: Kind, token: string, clientId: string) {
    const where = { hash: { in: this.hashesOf(token) }, kind, clientHash: digestOf(clientId) };
    return (await this.prisma.oAuthToken.findFirst({ where })) ?? undefined;
  }

  /** Whether this call was the first one to use it; `expiresAt`: until when it is known as a used one. */
  private async use({ hash }: { readonly hash: Uint8Array<ArrayBuffer> }, expiresAt: Date): Promise<boolean> {
    const data = { usedAt: new Date(), expiresAt };
    return (await this.prisma.oAuthToken.updateMany({ where: { hash, usedAt: null }, data })).count === 1;
  }

  /** `by`: what revokes the key, for the audit log. */
  private async end(id: string, by: string): Promise<void> {
    await this.prisma.$transaction(async (transaction) => {
      const revoked = await transaction.apiKey.updateManyAndReturn({
        where: { id, revokedAt: null },
        data: { revokedAt: new Date() },
        select: { accountId: true, name: true },
      });
      for (const { accountId, name } of revoked) {
        const event = { accountId, personId: null, action: 'key.revoked', target: id, details: { name, by } } as const;
        await this.audit.write(event, transaction);
      }
    });
  }

  private async isAlive(keyId: string): Promise<boolean> {
    const key = await this.prisma.apiKey.findFirst({
      where: {
        id: keyId,
        revokedAt: null,
        account: { disabledAt: null },
        OR: [{ expiresAt: null }, { expiresAt: { gt: new Date() } }],
      },
    });
    return key !== null && (await this.isOfPerson(key));
  }

  /** Unlike a key with a secret, an authorization does not outlive its person. */
  private async isOfPerson({
    createdBy,
    accountId,
  }: {
    createdBy: string | null;
    accountId: string;
  }): Promise<boolean> {
    const where = { id: createdBy ?? '', accountId, disabledAt: null, deletedAt: null };
    return (await this.prisma.person.count({ where })) === 1;
  }

  /** No hash for a text that can't be a token, so that it finds none. */
  private hashesOf(token: string): Uint8Array<ArrayBuffer>[] {
    return TOKEN.test(token) ? tokenHashes(this.secrets, 'client token', token) : [];
  }
}

/** Whether a text has the form of an access token. */
export function isAccessToken(text: string): boolean {
  return text.startsWith(PREFIXES.access);
}

function digestOf(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(text).digest());
}

/** Whether the verifier is that of the challenge (RFC 7636, S256). */
function isVerifierOf(challenge: string, verifier: string): boolean {
  const [known, sent] = [Buffer.from(challenge, 'base64url'), digestOf(verifier)];
  return known.length === sent.length && timingSafeEqual(known, sent);
}
