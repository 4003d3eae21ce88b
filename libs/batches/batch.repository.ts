import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { overloaded } from '#contract/unavailable.js';
import { inList, jsonOf } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { lockAccount } from '#accounts/accounts.sql.js';
import { failedLines } from './batch.sql.js';
import {
  MAX_OPEN_BATCHES,
  WINDOW_MS,
  type Batch,
  type BatchEndpoint,
  type BatchScope,
  type EndedLine,
} from './batch.js';

/** A batch that was asked for. */
export interface NewBatch {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly endpoint: BatchEndpoint;
  readonly inputFileId: string;
  readonly metadata: Readonly<Record<string, string>> | null;
  /** In seconds. */
  readonly resultsKept: number;
  /** The user who starts it in the console. */
  readonly orderedBy?: string;
}

/** A page of batches, newest first. */
export interface BatchPage {
  readonly batches: readonly Batch[];
  readonly hasMore: boolean;
}

/** Batches as their callers see and cancel them. Throws AppError `server_is_overloaded` when Postgres does not answer. */
@Injectable()
export class BatchRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Throws AppError `account_limit_reached` when too many of the account's batches have not ended. */
  async create({ metadata, ...batch }: NewBatch): Promise<Batch> {
    const { accountId } = batch;
    const row = await answered(
      this.prisma.$transaction(async (transaction) => {
        await lockAccount(transaction, accountId);
        if ((await transaction.batch.count({ where: { accountId, endedAt: null } })) >= MAX_OPEN_BATCHES) return;
        const createdAt = new Date();
        const expiresAt = new Date(createdAt.getTime() + WINDOW_MS);
        const json = metadata === null ? {} : { metadata: jsonOf(metadata) };
        return await transaction.batch.create({ data: { ...batch, ...json, createdAt, expiresAt } });
      }),
    );
    if (row !== undefined) return toBatch(row);
    const text = `An account can have ${MAX_OPEN_BATCHES} batches in progress. Wait until one has ended.`;
    throw new AppError('account_limit_reached', text);
  }

  /** Undefined when the scope has no such batch. */
  async find(scope: BatchScope, id: string): Promise<Batch | undefined> {
    const row = await answered(this.prisma.batch.findFirst({ where: { id, ...seenBy(scope) } }));
    return row === null ? undefined : toBatch(row);
  }

  /** Newest first, from behind the batch `after`. */
  async list(scope: BatchScope, { limit, after }: { limit: number; after?: string | undefined }): Promise<BatchPage> {
    const where = { ...seenBy(scope), ...(after !== undefined && { id: { lt: after } }) };
    const rows = await answered(this.prisma.batch.findMany({ where, orderBy: { id: 'desc' }, take: limit + 1 }));
    return { batches: rows.slice(0, limit).map(toBatch), hasMore: rows.length > limit };
  }

  /** The first lines that have ended without an image, of a batch whose results are not written yet. */
  async failedLines(batchId: string, limit: number): Promise<EndedLine[]> {
    return await answered(failedLines(this.prisma.pool, batchId, limit));
  }

  /**
   * Begins to cancel a batch that still runs; returns it as it is afterwards, like `find`. The process that holds its
   * step keeps it: lines that it is about to submit become tasks before anybody looks for these.
   */
  async cancel(scope: BatchScope, id: string): Promise<Batch | undefined> {
    await answered(
      this.prisma.batch.updateMany({
        where: { id, ...seenBy(scope), status: { in: ['validating', 'in_progress'] } },
        data: { status: 'cancelling', cancellingAt: new Date() },
      }),
    );
    return await this.find(scope, id);
  }
}

function seenBy({ accountId, own, personId }: BatchScope) {
  if (own === undefined) return { accountId };
  const ofKeys = { apiKeyId: { in: inList(own.keyIds) } };
  return { accountId, OR: personId === undefined ? [ofKeys] : [ofKeys, { orderedBy: personId }] };
}

/** A row of the table, whose JSON columns hold only what this room wrote. */
export interface BatchRow extends Omit<Batch, 'status' | 'endpoint' | 'problems' | 'metadata'> {
  readonly status: string;
  readonly endpoint: string;
  readonly problems: unknown;
  readonly metadata: unknown;
}

/** Restores the types of the columns, unchecked. */
export function toBatch(row: BatchRow): Batch {
  return row as Batch;
}

async function answered<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((cause: unknown) => {
    throw overloaded(cause);
  });
}
