import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';

const INTERVAL_MS = 1_000;
/** How late a statement may arrive: TCP resends a lost packet for about two minutes after its sender has left. */
const PATIENCE_MS = 300_000;
const BATCH = 1_000;

/**
 * Only a task that was not requested again (`TaskIntake` marks those) and that no worker has ever held. The sweep
 * leaves it alone until its grace time is over, so it is deleted before it is enqueued.
 */
const UNWANTED = { status: 'pending', attempt: 0, nextTryAt: null } as const;

/**
 * Deletes tasks whose callers were refused because the database had not answered in time: the insert may have succeeded
 * all the same, or may yet do so when a frozen server resumes, and no caller waits for that image.
 */
@Injectable()
export class RetractTasks implements BeforeApplicationShutdown {
  /** Until when to look for each task, by id; Infinity until the database answers a look for it. */
  private readonly doubtful = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  add(taskId: string): void {
    this.doubtful.set(taskId, Infinity);
    this.timer ??= setTimeout(() => void this.look(), INTERVAL_MS).unref();
  }

  has(taskId: string): boolean {
    return this.doubtful.has(taskId);
  }

  /** Looks a last time, because no process does so afterwards. */
  async beforeApplicationShutdown(): Promise<void> {
    clearTimeout(this.timer);
    if (this.doubtful.size > 0) await this.look();
    clearTimeout(this.timer);
  }

  private async look(): Promise<void> {
    const ids = [...this.doubtful.keys()];
    try {
      for (let start = 0; start < ids.length; start += BATCH) await this.retract(ids.slice(start, start + BATCH));
    } catch (error) {
      this.logger.debug('task.not_retracted', { count: ids.length, error });
    }
    this.timer = this.doubtful.size === 0 ? undefined : setTimeout(() => void this.look(), INTERVAL_MS).unref();
  }

  private async retract(ids: readonly string[]): Promise<void> {
    const found = await this.prisma.task.findMany({
      where: { id: { in: inList(ids) }, ...UNWANTED },
      select: { id: true },
    });
    for (const { id } of found) {
      if (!(await this.takeBack(id))) continue;
      this.doubtful.delete(id);
      this.logger.warn('task.retracted', { taskId: id });
    }
    const now = Date.now();
    for (const id of ids) {
      const until = Math.min(this.doubtful.get(id) ?? 0, now + PATIENCE_MS);
      if (until < now) this.doubtful.delete(id);
      else this.doubtful.set(id, until);
    }
  }

  /** One at a time, so that no transaction locks many budgets. False if it was requested again or claimed meanwhile. */
  private async takeBack(id: string): Promise<boolean> {
    return this.prisma.$transaction(async (tx) => {
      const { count } = await tx.task.deleteMany({ where: { id, ...UNWANTED } });
      if (count > 0) await tx.idempotencyKey.deleteMany({ where: { taskId: id } });
      return count > 0;
    });
  }
}
