import { Injectable } from '@nestjs/common';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { ImageQueue } from '#queue/image-queue.js';
import { Logger } from '#telemetry/logger.js';
import { TasksConfig } from '../row/tasks.config.js';

/** Only a task that was not requested again (`adopt` marks those) and that no worker has ever held. */
const UNWANTED = { status: 'pending', attempt: 0, nextTryAt: null } as const;

/**
 * Deletes tasks whose callers were refused because the database had not answered in time: the insert may have succeeded
 * all the same, or may yet do so when a frozen server resumes, and no caller waits for that image. Until then, no sweep
 * enqueues them.
 */
@Injectable()
export class RetractTasks {
  private readonly doubtful;

  constructor(
    private readonly prisma: PrismaService,
    private readonly queue: ImageQueue,
    private readonly config: TasksConfig,
    private readonly logger: Logger,
  ) {
    this.doubtful = prisma.repeated<string>((ids) => this.retract(ids));
  }

  add(taskId: string): void {
    // A row that appears later than this has passed its deadline.
    this.queue.refuse(taskId, this.config.deadlineMs);
    this.doubtful.add(taskId);
  }

  has(taskId: string): boolean {
    return this.doubtful.has(taskId);
  }

  /** Looks for them now, if the database has not answered since they were added. Throws what the database throws. */
  async retractNow(): Promise<void> {
    await this.doubtful.repeatNow();
  }

  private async retract(ids: readonly string[]): Promise<string[]> {
    const found = await this.prisma.task.findMany({
      where: { id: { in: inList(ids) }, ...UNWANTED },
      select: { id: true },
    });
    const retracted: string[] = [];
    for (const { id } of found) {
      if (!(await deleteUnwanted(this.prisma, id))) continue;
      retracted.push(id);
      this.logger.warn('task.retracted', { taskId: id });
    }
    return retracted;
  }
}

/**
 * Deletes a task, and its key, unless it was requested again or claimed meanwhile; returns whether it did. One at a
 * time, so that no transaction locks many budgets.
 */
export async function deleteUnwanted(prisma: PrismaService, id: string): Promise<boolean> {
  return prisma.$transaction(async (tx) => {
    const { count } = await tx.task.deleteMany({ where: { id, ...UNWANTED } });
    if (count > 0) await tx.idempotencyKey.deleteMany({ where: { taskId: id } });
    return count > 0;
  });
}
