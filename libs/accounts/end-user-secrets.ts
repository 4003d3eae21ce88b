import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { PrismaService } from '#database/prisma.service.js';
import { atMost } from '#limits/at-most.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import type { TokenSecrets } from './tokens.js';

/** Purpose of this store's TextSealer. */
const END_USER_SECRETS = 'end user secrets';
const SECRET_BYTES = 32;
const MAX_SECRETS = 10_000;

/**
 * The secrets that accounts derive identifiers of end users with. Each account has one, random and forever, so that a new
 * SECRET_KEY changes no identifier: it only encrypts the secrets again.
 */
@Injectable()
export class EndUserSecrets {
  private readonly known = new LRUCache<string, Buffer>(atMost(MAX_SECRETS));
  private readonly sealer: TextSealer;

  constructor(
    private readonly prisma: PrismaService,
    secrets: SecretsConfig,
  ) {
    this.sealer = new TextSealer(secrets, END_USER_SECRETS);
  }

  /** The account's secret, created on first use. Throws UnreadableSecret, or when the database does not answer. */
  async of(accountId: string): Promise<Buffer> {
    const known = this.known.get(accountId);
    if (known !== undefined) return known;
    const found = (await this.read(accountId)) ?? (await this.create(accountId));
    const secret = Buffer.from(found, 'base64');
    this.known.set(accountId, secret);
    return secret;
  }

  private async read(accountId: string): Promise<string | undefined> {
    const row = await this.prisma.endUserSecret.findUnique({ where: { accountId } });
    if (row === null) return undefined;
    const text = { keyId: row.keyId, sealed: Buffer.from(row.sealed) };
    const secret = this.sealer.open(accountId, text);
    if (this.sealer.isOutdated(text)) {
      const where = { accountId, keyId: row.keyId };
      await this.prisma.endUserSecret.updateMany({ where, data: this.columns(accountId, secret) });
    }
    return secret;
  }

  /** Of two processes that do this at once, one writes, and both read what it wrote. */
  private async create(accountId: string): Promise<string> {
    const data = { accountId, ...this.columns(accountId, randomBytes(SECRET_BYTES).toString('base64')) };
    await this.prisma.endUserSecret.createMany({ data, skipDuplicates: true });
    const written = await this.read(accountId);
    if (written === undefined) throw new Error('the account has no secret for end users');
    return written;
  }

  private columns(accountId: string, secret: string) {
    const { keyId, sealed } = this.sealer.seal(accountId, secret);
    return { keyId, sealed: new Uint8Array(sealed) };
  }
}

/** Number of secrets that are not encrypted with the current SECRET_KEY. */
export async function outdatedEndUserSecrets(prisma: PrismaService, secrets: TokenSecrets): Promise<number> {
  const sealer = new TextSealer(secrets, END_USER_SECRETS);
  const rows = await prisma.endUserSecret.groupBy({ by: ['keyId'], _count: true });
  const sealed = Buffer.alloc(0);
  return rows.reduce((sum, row) => sum + (sealer.isOutdated({ ...row, sealed }) ? row._count : 0), 0);
}
