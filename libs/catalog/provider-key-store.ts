import { Injectable } from '@nestjs/common';
import { ulid } from 'ulid';
import { PrismaService } from '#database/prisma.service.js';
import { TextSealer, UnreadableSecret } from '#secrets/sealed-text.js';

/** For the TextSealer of this store. */
export const PROVIDER_KEYS = 'provider keys';

/** A provider's key as its row holds it. */
export interface SealedKey {
  readonly id: string;
  readonly keyId: string;
  readonly sealed: Uint8Array<ArrayBuffer>;
}

/** Keys of providers that were given in the console, sealed. They are opened to call the provider, and never shown. */
@Injectable()
export class ProviderKeyStore {
  constructor(
    private readonly prisma: PrismaService,
    private readonly sealer: TextSealer,
  ) {}

  /** A row for a key, to be written with the revision that names it. */
  seal(secret: string): SealedKey {
    const id = `pkey_${ulid()}`;
    return { id, ...this.columns(id, secret) };
  }

  /** Keys by their rows, without those under a SECRET_KEY that is not known. One under the previous SECRET_KEY is sealed anew. */
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

  /** How many keys are under another SECRET_KEY than the current one. */
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
