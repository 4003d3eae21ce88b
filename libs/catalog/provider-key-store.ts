import { Injectable } from '@nestjs/common';
import { ulid } from 'ulid';
import { PrismaService } from '#database/prisma.service.js';
import { TextSealer, UnreadableSecret } from '#secrets/sealed-text.js';

/** Purpose of this store's TextSealer. */
export const PROVIDER_KEYS = 'provider keys';

/** A provider key as its database row stores it. */
export interface SealedKey {
  readonly id: string;
  readonly keyId: string;
  readonly sealed: Uint8Array<ArrayBuffer>;
}

/** Provider keys entered in the console, stored encrypted. They are decrypted to call the provider, and never shown. */
@Injectable()
export class ProviderKeyStore {
  constructor(
    private readonly prisma: PrismaService,
    private readonly sealer: TextSealer,
  ) {}

  /** Creates the row for a key, to be saved with the revision that refers to it. */
  seal(secret: string): SealedKey {
    const id = `pkey_${ulid()}`;
    return { id, ...this.columns(id, secret) };
  }

  /** Decrypts all keys, by row id; skips those of an unknown SECRET_KEY, and re-encrypts those of the previous one. */
  async open(): Promise<Map<string, string>> {
    const opened = new Map<string, string>();
    for (const row of await this.prisma.providerKey.findMany()) {
      const { id, keyId } = row;
      const text = { keyId, sealed: Buffer.from(row.sealed) };
      try {
        opened.set(id, this.sealer.open(id, text));
      } catch (error) {
        if (!(error instanceof UnreadableSecret)) throw error;
      }
      const secret = opened.get(id);
      if (secret === undefined || !this.sealer.isOutdated(text)) continue;
      await this.prisma.providerKey.updateMany({ where: { id, keyId }, data: this.columns(id, secret) });
    }
    return opened;
  }

  /** Number of keys that are not encrypted with the current SECRET_KEY. */
  async outdated(): Promise<number> {
    const rows = await this.prisma.providerKey.groupBy({ by: ['keyId'], _count: true });
    const sealed = Buffer.alloc(0);
    return rows.reduce((sum, row) => sum + (this.sealer.isOutdated({ ...row, sealed }) ? row._count : 0), 0);
  }

  private columns(id: string, secret: string): Omit<SealedKey, 'id'> {
    const { keyId, sealed } = this.sealer.seal(id, secret);
    return { keyId, sealed: new Uint8Array(sealed) };
  }
}
