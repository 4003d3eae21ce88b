import { Injectable } from '@nestjs/common';
import { jsonOf } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { toBatch } from './batch.repository.js';
import {
  callLines,
  claimLines,
  endInDoubt,
  endLines,
  endWaiting,
  renewLines,
  takeStep,
  waitForStep,
} from './batch.sql.js';
import {
  isSuccess,
  type Batch,
  type BatchLine,
  type BatchProblem,
  type ClaimedLine,
  type EndedLine,
  type LineEnd,
  type LineFormat,
  type LineOutcome,
  type SubmittedLine,
} from './batch.js';

/** How long a step belongs to its process, in ms; a longer one says in between that it goes on. */
const STEP_MS = 15_000;
/** How long a process that passed a chat on has its response without saying so again, in ms. */
export const CALL_LEASE_MS = 30_000;

/** A batch whose next step this process takes. */
export interface TakenBatch extends Batch {
  /** Whether its time is over. */
  readonly isOver: boolean;
}

/**
 * How a batch advances, one step after the other, at whichever process takes the next one. Two processes may take the
 * same step when one was paused: each write changes only what is still as it was, so nothing is done twice. Throws what
 * the database throws.
 */
@Injectable()
export class BatchSteps {
  constructor(private readonly prisma: PrismaService) {}

  /** The batch that has been due for longest; undefined when none is. */
  async take(): Promise<TakenBatch | undefined> {
    const due = await takeStep(this.prisma.pool, STEP_MS);
    if (due === undefined) return undefined;
    const row = await this.prisma.batch.findUnique({ where: { id: due.id } });
    return row === null ? undefined : { ...toBatch(row), isOver: due.isOver };
  }

  /** The step goes on; false if another process has ended the batch meanwhile. */
  async goOn(id: string): Promise<boolean> {
    return await waitForStep(this.prisma.pool, id, STEP_MS);
  }

  /** The step is done; the next one is due after so many ms. */
  async done(id: string, ms: number): Promise<void> {
    await waitForStep(this.prisma.pool, id, ms);
  }

  /** Remembers lines of the input file; those that are known already stay as they are. */
  async addLines(batchId: string, lines: readonly BatchLine[]): Promise<void> {
    const data = lines.map((line) => ({ batchId, ...line }));
    await this.prisma.batchLine.createMany({ data, skipDuplicates: true });
  }

  /** The file is valid and has so many lines. */
  async begin(id: string, total: number): Promise<void> {
    const data = { status: 'in_progress', inProgressAt: new Date(), total };
    await this.prisma.batch.updateMany({ where: { id, status: 'validating' }, data });
  }

  /** The file is not valid. */
  async refuse(id: string, problems: readonly BatchProblem[]): Promise<void> {
    const data = { status: 'failed', endedAt: new Date(), problems: problems.map((problem) => jsonOf(problem)) };
    const { count } = await this.prisma.batch.updateMany({ where: { id, status: 'validating' }, data });
    if (count > 0) await this.prisma.batchLine.deleteMany({ where: { batchId: id } });
  }

  /** It was cancelled before the file was known to be valid, so there are no results. */
  async endUnbegun(id: string): Promise<void> {
    const data = { status: 'cancelled', endedAt: new Date() };
    const { count } = await this.prisma.batch.updateMany({ where: { id, status: 'cancelling' }, data });
    if (count > 0) await this.prisma.batchLine.deleteMany({ where: { batchId: id } });
  }

  /** Its time is over, unless it is being cancelled or its results are being written. */
  async expire(id: string): Promise<void> {
    const where = { id, status: { in: ['validating', 'in_progress'] }, expiredAt: null };
    await this.prisma.batch.updateMany({ where, data: { expiredAt: new Date() } });
  }

  /** The next lines to become tasks. */
  async claim(batchId: string, limit: number): Promise<ClaimedLine[]> {
    const lines = await claimLines(this.prisma.pool, batchId, limit);
    return lines.sort((a, b) => a.line - b.line);
  }

  /** The next chats, which only this process may pass on. It renews their leases until it has ended them. */
  async call(batchId: string, limit: number): Promise<ClaimedLine[]> {
    return await callLines(this.prisma.pool, batchId, limit, CALL_LEASE_MS);
  }

  /** These chats are still under way. */
  async renewCalls(batchId: string, lines: readonly number[]): Promise<void> {
    await renewLines(this.prisma.pool, batchId, lines, CALL_LEASE_MS);
  }

  /** Chats that were passed on, by any process, and have not ended. */
  async countCalled(batchId: string): Promise<number> {
    return await this.prisma.batchLine.count({ where: { batchId, state: 'called' } });
  }

  /** Ends chats whose process is gone: whether they were answered, nobody knows. */
  async endInDoubt(batchId: string, outcome: LineOutcome): Promise<void> {
    await endInDoubt(this.prisma.pool, batchId, outcome);
  }

  /** Lines that a process had claimed. */
  async claimed(batchId: string): Promise<ClaimedLine[]> {
    return await this.prisma.batchLine.findMany({ where: { batchId, state: 'claimed' }, omit: { taskId: true } });
  }

  /**
   * The line's task was accepted; `format` is not known of one that a killed process had accepted. False if the line is another task's, or none's any more: it was ended while this one
   * was being accepted.
   */
  async submitted(
    batchId: string,
    { line, late }: ClaimedLine,
    { taskId, format }: { readonly taskId: string; readonly format?: LineFormat },
  ): Promise<boolean> {
    const where = { batchId, line, late, state: { in: ['claimed', 'waiting'] } };
    const { count } = await this.prisma.batchLine.updateMany({
      where,
      data: { state: 'submitted', taskId, ...(format && { format }) },
    });
    // Another process may have found the same task by the line's key.
    return count > 0 || (await this.prisma.batchLine.count({ where: { batchId, line, taskId } })) > 0;
  }

  /** The line was refused for now and has no task: all that were put off less often come before it. */
  async putOff(batchId: string, { line }: ClaimedLine): Promise<void> {
    const where = { batchId, line, state: { in: ['claimed', 'called'] } };
    await this.prisma.batchLine.updateMany({ where, data: { state: 'waiting', putOff: { increment: 1 } } });
  }

  /** The line becomes another task: this one never started before its deadline. */
  async again(batchId: string, { line, taskId }: Pick<SubmittedLine, 'line' | 'taskId'>): Promise<void> {
    const where = { batchId, line, taskId, state: 'submitted' };
    await this.prisma.batchLine.updateMany({ where, data: { state: 'waiting', taskId: null, late: { increment: 1 } } });
  }

  /** The lines whose tasks may still run. */
  async running(batchId: string): Promise<SubmittedLine[]> {
    const select = { line: true, taskId: true, format: true } as const;
    const rows = await this.prisma.batchLine.findMany({ where: { batchId, state: 'submitted' }, select });
    return rows.flatMap(({ line, taskId, format }) =>
      taskId === null ? [] : { line, taskId, format: (format ?? 'both') as LineFormat },
    );
  }

  /** Ends lines, and counts them in their batch. */
  async end(batchId: string, lines: readonly LineEnd[]): Promise<void> {
    const counted = lines.map((line) => ({ ...line, isSuccess: isSuccess(line.outcome) }));
    await endLines(this.prisma.pool, batchId, counted);
  }

  /** Ends all lines that no process has begun to submit. */
  async endWaiting(batchId: string, outcome: LineOutcome): Promise<void> {
    await endWaiting(this.prisma.pool, batchId, outcome);
  }

  /** Whether lines are left that have not ended. */
  async hasUnfinished(batchId: string): Promise<boolean> {
    const where = { batchId, state: { in: ['waiting', 'claimed', 'submitted', 'called'] } };
    return (await this.prisma.batchLine.findFirst({ where, select: { line: true } })) !== null;
  }

  /** How many of the account's batches share what it may have in flight. */
  async countOpen(accountId: string): Promise<number> {
    return await this.prisma.batch.count({ where: { accountId, endedAt: null, status: 'in_progress' } });
  }

  /** All lines have ended: results are written to these files, if another process has not named others. */
  async finalize(id: string, files: { readonly outputFileId: string; readonly errorFileId: string }): Promise<void> {
    const where = { id, status: { in: ['in_progress', 'cancelling'] } };
    await this.prisma.batch.updateMany({ where, data: { status: 'finalizing', finalizingAt: new Date(), ...files } });
  }

  /** Ended lines in order, from behind `after`. */
  async ended(batchId: string, after: number, limit: number): Promise<EndedLine[]> {
    const where = { batchId, line: { gt: after } };
    const select = { line: true, customId: true, outcome: true } as const;
    const rows = await this.prisma.batchLine.findMany({ where, orderBy: { line: 'asc' }, take: limit, select });
    return rows as unknown as EndedLine[];
  }

  /** The results are written; files without a line were not. */
  async finish(
    { id, cancellingAt, expiredAt }: Pick<Batch, 'id' | 'cancellingAt' | 'expiredAt'>,
    files: Pick<Batch, 'outputFileId' | 'errorFileId'>,
  ): Promise<void> {
    const status = cancellingAt !== null ? 'cancelled' : expiredAt !== null ? 'expired' : 'completed';
    const data = { status, endedAt: new Date(), ...files };
    const { count } = await this.prisma.batch.updateMany({ where: { id, status: 'finalizing' }, data });
    if (count > 0) await this.prisma.batchLine.deleteMany({ where: { batchId: id } });
  }
}
