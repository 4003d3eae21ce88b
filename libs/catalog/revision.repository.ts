import { Injectable } from '@nestjs/common';
import { isUniqueViolation } from '#database/database-errors.js';
import { jsonOf } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import type { ConsoleEntries } from './catalog-schema.js';
import { serversOf } from './entry-problems.js';
import type { SealedKey } from './provider-key-store.js';

/** Number of revisions kept for undo. */
const KEPT = 100;

/** One state of the console's entries. */
export interface Revision {
  /** Counts from 1; 0 is the state before the first change. */
  readonly number: number;
  readonly entries: ConsoleEntries;
}

/** How a revision was created. */
export interface RevisionChange {
  /** An AuditAction. */
  readonly action: string;
  /** Name of the entry, or number of the restored revision. */
  readonly target: string;
  /** Email address of the user who made the change. */
  readonly author: string;
}

/** A revision in a list. */
export interface RevisionSummary extends RevisionChange {
  readonly number: number;
  readonly createdAt: Date;
}

/** The console's entries, one row per revision; the one with the highest number is active. */
@Injectable()
export class RevisionRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** The number of the active revision. */
  async newest(): Promise<number> {
    const row = await this.prisma.catalogRevision.findFirst({
      orderBy: { number: 'desc' },
      select: { number: true },
    });
    return row?.number ?? 0;
  }

  /** The active revision, or an earlier one; undefined if there is none or it is no longer kept. */
  async find(number?: number): Promise<Revision | undefined> {
    const row = await this.prisma.catalogRevision.findFirst({
      ...(number === undefined ? {} : { where: { number } }),
      orderBy: { number: 'desc' },
    });
    return row === null ? undefined : { number: row.number, entries: row.entries as unknown as ConsoleEntries };
  }

  /** All kept revisions, newest first. */
  async list(): Promise<RevisionSummary[]> {
    return await this.prisma.catalogRevision.findMany({
      orderBy: { number: 'desc' },
      select: { number: true, action: true, target: true, author: true, createdAt: true },
    });
  }

  /**
   * Activates a revision and saves its new keys; false when another change came first. Deletes revisions that are too
   * old for undo, and keys that no remaining revision refers to.
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
  const keys = Object.values(providers).flatMap((entry) => [
    ...serversOf(entry).flatMap((server) => server.keys ?? []),
    ...(entry.webhook_secret === undefined ? [] : [entry.webhook_secret]),
  ]);
  return keys.flatMap((key) => ('sealed' in key ? [key.sealed] : []));
}
