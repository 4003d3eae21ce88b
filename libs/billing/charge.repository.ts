import { Injectable } from '@nestjs/common';
import { encodeTime } from 'ulid';
import { PrismaService } from '#database/prisma.service.js';

/** Charges by the time of their task, which its id begins with. Triggers write them (ledger.sql). */
@Injectable()
export class ChargeRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Removes so many charges at most of tasks from before a time; answers with their number. What was spent stays in `spend_totals`. */
  async removeBefore(time: Date, limit: number): Promise<number> {
    // By the primary key, so charges need no index by time, which every task would pay for.
    const { charge } = this.prisma;
    const due = { gte: 'task_', lt: `task_${encodeTime(time.getTime())}` };
    const rows = await charge.findMany({
      where: { taskId: due },
      orderBy: [{ taskId: 'asc' }, { kind: 'asc' }],
      take: limit,
      select: { taskId: true },
    });
    const [first, last] = [rows[0], rows.at(-1)];
    if (first === undefined || last === undefined) return 0;
    // Those of the last task go together, so it may be one more; a range, since a list would be looked up row by row.
    await charge.deleteMany({ where: { taskId: { gte: first.taskId, lte: last.taskId } } });
    return rows.length;
  }
}
