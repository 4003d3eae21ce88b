import { Injectable } from '@nestjs/common';
import { decodeTime, encodeTime } from 'ulid';
import { PrismaService } from '#database/prisma.service.js';

const TASK = 'task_';

/** Charges, selected by the time in the id of their task. Triggers write them (ledger.sql). */
@Injectable()
export class ChargeRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** When the task of the oldest charge from before a time was created. */
  async oldestBefore(time: Date): Promise<Date | undefined> {
    const oldest = await this.prisma.charge.findFirst({
      where: { taskId: before(time) },
      orderBy: [{ taskId: 'asc' }, { kind: 'asc' }],
      select: { taskId: true },
    });
    return oldest === null ? undefined : new Date(decodeTime(oldest.taskId.slice(TASK.length)));
  }

  /**
   * Removes at most `limit` charges of tasks from before a time, and returns their number. The totals stay in
   * `spend_totals`.
   */
  async removeBefore(time: Date, limit: number): Promise<number> {
    const { charge } = this.prisma;
    const rows = await charge.findMany({
      where: { taskId: before(time) },
      orderBy: [{ taskId: 'asc' }, { kind: 'asc' }],
      take: limit,
      select: { taskId: true },
    });
    const first = rows[0];
    const last = rows.at(-1);
    if (first === undefined || last === undefined) return 0;
    // The last task loses all its charges, so it may be one more. A range, because the keys of a list are looked up one
    // by one.
    await charge.deleteMany({ where: { taskId: { gte: first.taskId, lte: last.taskId } } });
    return rows.length;
  }
}

/** By the primary key: an index by time would slow down every task. */
function before(time: Date): { gte: string; lt: string } {
  return { gte: TASK, lt: TASK + encodeTime(time.getTime()) };
}
