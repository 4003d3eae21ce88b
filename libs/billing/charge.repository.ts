import { Injectable } from '@nestjs/common';
import { encodeTime } from 'ulid';
import { PrismaService } from '#database/prisma.service.js';

/** Charges, selected by the time in the id of their task. Triggers write them (ledger.sql). */
@Injectable()
export class ChargeRepository {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * Removes at most `limit` charges of tasks from before a time, and returns their number. The totals stay in
   * `spend_totals`.
   */
  async removeBefore(time: Date, limit: number): Promise<number> {
    // By the primary key: an index by time would slow down every task.
    const { charge } = this.prisma;
    const due = { gte: 'task_', lt: `task_${encodeTime(time.getTime())}` };
    const rows = await charge.findMany({
      where: { taskId: due },
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
