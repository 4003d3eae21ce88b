import { Injectable } from '@nestjs/common';
import { isUniqueViolation } from '#database/database-errors.js';
import { jsonOf } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import type { ConsoleEntries } from './catalog-schema.js';
import type { SealedKey } from './provider-key-store.js';

/** So many changes can be undone. */
const KEPT = 100;

/** One state of what the console adds to the catalog. */
export interface Revision {
  /** From 1 on; 0 before the first change. */
  readonly number: number;
  readonly entries: ConsoleEntries;
}

/** How one revision came to be. */
export interface RevisionChange {
  /** An AuditAction. */
  readonly action: string;
  /** Name of the entry, or number of the revision that was restored. */
  readonly target: string;
  /** Email address of who did it. */
  readonly author: string;
}

/** A revision as it is listed. */
export interface RevisionSummary extends RevisionChange {
  readonly number: number;
  readonly createdAt: Date;
}

/** What the console adds to the catalog, one row for each state it had; the one with the highest number is in force. */
@Injectable()
export class RevisionRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** The number of the revision in force. */
  async newest(): Promise<number> {
    const row = await this.prisma.catalogRevision.findFirst({
      orderBy: { number: 'desc' },
      select: { number: true },
    });
    return row?.number ?? 0;
  }

  /** The revision in force, or one before it; undefined where that is none or not kept any more. */
  async find(number?: number): Promise<Revision | undefined> {
    const row = await this.prisma.catalogRevision.findFirst({
      ...(number === undefined ? {} : { where: { number } }),
      orderBy: { number: 'desc' },
    });
    return row === null ? undefined : { number: row.number, entries: row.entries as unknown as ConsoleEntries };
  }

  /** All that are kept, newest first. */
  async list(): Promise<RevisionSummary[]> {
    return await this.prisma.catalogRevision.findMany({
      orderBy: { number: 'desc' },
      select: { number: true, action: true, target: true, author: true, createdAt: true },
    });
  }

  /**
   * Puts a revision and its new keys in force; false when another one came first. What is too old to be undone is removed,
   * and with it the keys that no revision names any more.
   */
  async append({ number, entries }: Revision, change: RevisionChange, keys: readonly SealedKey[]): Promise<boolean> {
    const keyIds = sealedIn(entries);
    try {
      await this.prisma.$transaction(async ({ catalogRevision: revisions, providerKey }) => {
        await revisions.create({ data: { ...change, number, entries: jsonOf(entries), keyIds } });
        if (keys.length > 0) await providerKey.createMany({ data: [...keys] });
        await revisions.deleteMany({ where: { number: { lte: number - KEPT } } });
        const named = await revisions.findMany({ select: { keyIds: true } });
        await providerKey.deleteMany({ where: { id: { notIn: [...new Set(named.flatMap((row) => row.keyIds))] } } });
      });
      return true;
    } catch (error) {
      if (isUniqueViolation(error)) return false;
      throw error;
    }
  }
}

function sealedIn({ providers }: ConsoleEntries): string[] {
  const keys = Object.values(providers).flatMap((entry) => entry.keys ?? []);
  return keys.flatMap((key) => ('sealed' in key ? [key.sealed] : []));
}
