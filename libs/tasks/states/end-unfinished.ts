import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { jsonOf } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { taskError } from '../row/task.js';

const BATCH = 500;
const MESSAGE = 'The service was restored from a backup that predates the end of this task.';

/**
 * Fails every unfinished task: after a restore, it is unknown whether its image was bought since the backup was made.
 * Only for when no API and no worker is running.
 */
@Injectable()
export class EndUnfinished {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns their number. Their reserved costs are refunded. Throws when the database fails; then run it again. */
  async run(): Promise<number> {
    const { task } = this.prisma;
    const error = jsonOf(taskError(new AppError('interrupted', MESSAGE)));
    let count = 0;
    let page: { id: string }[];
    do {
      page = await task.findMany({
        where: { finishedAt: null },
        orderBy: { id: 'asc' },
        take: BATCH,
        select: { id: true },
      });
      // One by one: a statement that ends tasks of many owners would have to lock their budgets in order.
      for (const { id } of page) {
        const ended = await task.updateMany({
          where: { id, status: 'pending' },
          data: {
            status: 'failed',
            phase: 'done',
            error,
            finishedAt: new Date(),
            providerCallOpen: false,
            leaseUntil: null,
            leaseOwner: null,
          },
        });
        count += ended.count;
      }
    } while (page.length === BATCH);
    return count;
  }
}
