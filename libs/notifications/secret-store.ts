import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import { PrismaService } from '#database/prisma.service.js';
import { TextSealer, type SealedText } from '#secrets/sealed-text.js';

/** Purpose of this store's TextSealer. */
export const WEBHOOK_SECRETS = 'webhook secrets';
const SECRET_BYTES = 32;

/** A signing secret as its owner sees it. */
export interface WebhookSecret {
  readonly id: string;
  /** `whsec_` and base64. */
  readonly secret: string;
  readonly createdAt: Date;
  /** When it stops being valid; null for the current one. */
  readonly expiresAt: Date | null;
}

interface SecretRow extends SealedText {
  readonly id: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
}

/** The signing secrets of accounts: the current one and, for a while after a rotation, the previous one. */
@Injectable()
export class WebhookSecretStore {
  constructor(
    private readonly prisma: PrismaService,
    private readonly sealer: TextSealer,
  ) {}

  /** The valid secrets, the current one first; an account that has none gets one. Throws UnreadableSecret. */
  async valid(accountId: string): Promise<[WebhookSecret, ...WebhookSecret[]]> {
    let rows = await this.read(accountId);
    if (rows[0]?.expiresAt !== null) {
      // If two processes do this at once, one writes, and both read what it wrote.
      await this.makeFirst(accountId);
      rows = await this.read(accountId);
    }
    const [current, ...older] = await Promise.all(rows.map((row) => this.open(accountId, row)));
    if (current === undefined) throw new Error('the account has no webhook secret');
    return [current, ...older];
  }

  /**
   * Makes a new secret. The previous one stays valid for `overlapMs`; one that was already expiring ends at once, so
   * that there are never more than two. Throws when another rotation of the account happens at the same time.
   */
  async rotate(accountId: string, overlapMs: number): Promise<WebhookSecret> {
    const { id, secret, sealed } = this.make();
    const now = new Date();
    await this.prisma.$transaction(async ({ webhookSecret: secrets }) => {
      await secrets.updateMany({ where: { accountId, expiresAt: { gt: now } }, data: { expiresAt: now } });
      const expiresAt = new Date(now.getTime() + overlapMs);
      await secrets.updateMany({ where: { accountId, expiresAt: null }, data: { expiresAt } });
      await secrets.create({ data: { id, accountId, ...sealed, createdAt: now } });
    });
    return { id, secret, createdAt: now, expiresAt: null };
  }

  /** How many valid secrets are encrypted under the current SECRET_KEY, and how many under another. */
  async use(): Promise<{ current: number; outdated: number }> {
    const where = { OR: [{ expiresAt: null }, { expiresAt: { gt: new Date() } }] };
    const rows = await this.prisma.webhookSecret.groupBy({ by: ['keyId'], where, _count: true });
    const sealed = Buffer.alloc(0);
    const outdated = rows.reduce((sum, row) => sum + (this.sealer.isOutdated({ ...row, sealed }) ? row._count : 0), 0);
    return { current: rows.reduce((sum, row) => sum + row._count, 0) - outdated, outdated };
  }

  /** Removes a deleted account's secrets. */
  async removeAll(accountId: string): Promise<void> {
    await this.prisma.webhookSecret.deleteMany({ where: { accountId } });
  }

  private async read(accountId: string): Promise<SecretRow[]> {
    const rows = await this.prisma.webhookSecret.findMany({
      where: { accountId, OR: [{ expiresAt: null }, { expiresAt: { gt: new Date() } }] },
      orderBy: { expiresAt: { sort: 'desc', nulls: 'first' } },
    });
    return rows.map(({ sealed, ...row }) => ({ ...row, sealed: Buffer.from(sealed) }));
  }

  private async makeFirst(accountId: string): Promise<void> {
    const { id, sealed } = this.make();
    await this.prisma.webhookSecret.createMany({ data: { id, accountId, ...sealed }, skipDuplicates: true });
  }

  private make(): { id: string; secret: string; sealed: SealedColumns } {
    const id = `whs_${ulid()}`;
    const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
    return { id, secret, sealed: columnsOf(this.sealer.seal(id, secret)) };
  }

  /** Decrypts a secret. Re-encrypts one that is under the previous SECRET_KEY, so that this key can be retired one day. */
  private async open(accountId: string, row: SecretRow): Promise<WebhookSecret> {
    const { id, createdAt, expiresAt } = row;
    const secret = this.sealer.open(id, row);
    if (this.sealer.isOutdated(row)) {
      await this.prisma.webhookSecret.updateMany({
        where: { id, accountId, keyId: row.keyId },
        data: columnsOf(this.sealer.seal(id, secret)),
      });
    }
    return { id, secret, createdAt, expiresAt };
  }
}

/** A sealed text as Prisma takes it. */
interface SealedColumns {
  readonly keyId: string;
  readonly sealed: Uint8Array<ArrayBuffer>;
}

function columnsOf({ keyId, sealed }: SealedText): SealedColumns {
  return { keyId, sealed: new Uint8Array(sealed) };
}
