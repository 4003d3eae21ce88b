import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { secretIdOf } from '#secrets/sealed-text.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { touchKeys } from './accounts.sql.js';
import { ClientTokens, isAccessToken } from './client-tokens.js';
import { keyHashes, renewHash } from './key-hashes.js';

/** Finds the key that a request sent, and records that it was used. ApiKeyCache (`auth` of the API) caches the result. */
@Injectable()
export class FindKey {
  constructor(
    private readonly prisma: PrismaService,
    private readonly secrets: SecretsConfig,
    private readonly clients: ClientTokens,
  ) {}

  /**
   * The row of a key, or of that of an access token, with its account; undefined when there is none. The hash may still use the previous SECRET_KEY:
   * the key works with either, and its hash is then renewed.
   */
  async byText(key: string) {
    if (isAccessToken(key)) return await this.clients.keyOf(key);
    const hashes = keyHashes(this.secrets, key);
    const rows = await this.prisma.apiKey.findMany({ where: { hash: { in: hashes } }, include: { account: true } });
    const current = rows.find(({ hash }) => hashes[0] !== undefined && Buffer.compare(hash, hashes[0]) === 0);
    const isOutdated = rows.length > 0 && current?.secretId !== secretIdOf(this.secrets.secretKey);
    // The next lookup tries again.
    if (isOutdated) await renewHash(this.prisma, this.secrets, key).catch(() => undefined);
    return current ?? rows[0];
  }

  /** The row of a key that works in place of this one: itself, or the last that a rotation made; undefined: none. */
  async current(id: string) {
    for (let wanted = id; ;) {
      const row = await this.prisma.apiKey.findUnique({ where: { id: wanted }, include: { account: true } });
      if (row === null) return undefined;
      if (row.replacedBy === null) return row;
      wanted = row.replacedBy;
    }
  }

  /** Records that keys were just used. */
  async touch(ids: readonly string[]): Promise<void> {
    await touchKeys(this.prisma.pool, ids);
  }
}
