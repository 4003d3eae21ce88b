import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';

const INTERVAL_MS = 1_000;
/** A statement may arrive that late: a lost packet is sent again for about two minutes after its sender has left. */
const PATIENCE_MS = 300_000;
const BATCH = 1_000;

/**
 * Only a task that nobody has asked for again (`TaskIntake` marks those) and that was never in a worker's hands.
 * The sweep does not look at it before its grace time is over, so it is gone before it is enqueued.
 */
const UNWANTED = { status: 'pending', attempt: 0, nextTryAt: null } as const;

/**
 * Takes back tasks whose callers were turned away because the database had not answered in time: the statement may
 * have been carried out all the same, or may yet be when a frozen server thaws, and nobody asked for that image.
 */
@Injectable()
export class RetractTasks implements BeforeApplicationShutdown {
  /** By id, until when to look for the task; counted from the first look that the database answered. */
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

  /** A last look, for what nobody looks for afterwards. */
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

  /** One at a time, so that nobody locks the budgets of many. False when it was asked for or taken meanwhile. */
  private async takeBack(id: string): Promise<boolean> {
    return this.prisma.$transaction(async (tx) => {
      const { count } = await tx.task.deleteMany({ where: { id, ...UNWANTED } });
      if (count > 0) await tx.idempotencyKey.deleteMany({ where: { taskId: id } });
      return count > 0;
    });
  }
}
