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
    const taskId = { gte: 'task_', lt: `task_${encodeTime(time.getTime())}` };
    return (await this.prisma.charge.deleteMany({ where: { taskId }, limit })).count;
  }
}
