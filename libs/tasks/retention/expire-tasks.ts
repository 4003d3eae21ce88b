import { Inject, Injectable } from '@nestjs/common';
import { definedFields, inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { tasksWithDeliveries } from '#notifications/deliveries/tasks-with-deliveries.js';
import { ownerOfKey, thumbnailKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { Logger } from '#telemetry/logger.js';
import { sentKeys, toImages } from '../row/task-columns.js';
import { forgetStoredInputs } from './stored-inputs.js';

const BATCH = 200;
/** Tasks whose objects are deleted in parallel: one by one, a store at 20 ms per object manages 20 tasks a second. */
const AT_ONCE = 16;

/** A row whose webhooks ended later than so many hours ago is not late: it became due when they ended. */
const WEBHOOKS_ENDED_HOURS = 1;

/** How long images and rows are kept after their task's end. */
interface Retention {
  readonly imageRetentionHours: number;
  readonly taskRetentionHours: number;
}

/** Matches the condition of the index of ended tasks; favorites are kept. */
const EXPIRING = { status: { not: 'pending' }, favoritedAt: null };

interface EndedTask {
  readonly id: string;
  readonly finishedAt: Date | null;
}

/**
 * Removes tasks that are past their retention and not favorites: first their objects and, later, their rows.
 * Deleting twice does no harm, so every worker may do it.
 */
@Injectable()
export class ExpireTasks {
  constructor(
    private readonly prisma: PrismaService,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly logger: Logger,
  ) {}

  /** One round over everything that is due. Throws when the database or the store fails; the next round continues. */
  async run({ imageRetentionHours, taskRetentionHours }: Retention): Promise<void> {
    while ((await this.expireObjects(imageRetentionHours)) === BATCH);
    let last = await this.deleteRows(taskRetentionHours);
    while (last !== undefined) last = await this.deleteRows(taskRetentionHours, last);
  }

  /** When the oldest images still stored became due for deletion; undefined when none are due. */
  async imagesDueSince({ imageRetentionHours }: Retention): Promise<Date | undefined> {
    const oldest = await this.prisma.task.findFirst({
      where: { ...EXPIRING, objectsDeletedAt: null, finishedAt: { lt: hoursAgo(imageRetentionHours) } },
      orderBy: { finishedAt: 'asc' },
      select: { finishedAt: true },
    });
    return hoursAfter(oldest?.finishedAt, imageRetentionHours);
  }

  /**
   * The same for rows; a live Idempotency-Key keeps one for `keyHours` at most. Leaves out rows whose webhooks have not
   * ended, or not long ago.
   */
  async rowsDueSince({ taskRetentionHours }: Retention, keyHours: number): Promise<Date | undefined> {
    const hours = Math.max(taskRetentionHours, keyHours);
    const endedSince = hoursAgo(WEBHOOKS_ENDED_HOURS);
    let rows: EndedTask[] = [];
    do {
      rows = await this.dueRows(hours, {}, rows.at(-1));
      const kept = await this.withWebhooks(rows, endedSince);
      const oldest = rows.find(({ id }) => !kept.has(id));
      if (oldest !== undefined) return hoursAfter(oldest.finishedAt, hours);
    } while (rows.length === BATCH);
    return undefined;
  }

  private async expireObjects(hours: number): Promise<number> {
    const { task } = this.prisma;
    const rows = await task.findMany({
      where: { ...EXPIRING, objectsDeletedAt: null, finishedAt: { lt: hoursAgo(hours) } },
      orderBy: { finishedAt: 'asc' },
      take: BATCH,
      select: { id: true, images: true, inputs: true, mask: true },
    });
    if (rows.length === 0) return 0;
    await this.deleteAll(rows.map(keysOf));
    const ids = rows.map(({ id }) => id);
    await forgetStoredInputs(this.prisma, ids);
    await task.updateMany({
      where: { id: { in: inList(ids) }, objectsDeletedAt: null },
      // One that was made a favorite meanwhile has lost its images as well.
      data: { objectsDeletedAt: new Date(), favoritedAt: null },
    });
    this.logger.info('retention.objects_deleted', { count: rows.length });
    return rows.length;
  }

  private async deleteAll(keysOfTasks: readonly string[][]): Promise<void> {
    const waiting = keysOfTasks.values();
    const work = async (): Promise<void> => {
      for (const keys of waiting) for (const key of keys) await this.store.delete(key);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  /**
   * Deletes a batch of the oldest rows; returns the last one it examined if there may be more. Keeps a task that a live
   * Idempotency-Key belongs to, because a repeated request must still get it, and one whose webhooks are still tried.
   */
  private async deleteRows(hours: number, after?: EndedTask): Promise<EndedTask | undefined> {
    const { task, idempotencyKey } = this.prisma;
    const rows = await this.dueRows(hours, { objectsDeletedAt: { not: null } }, after);
    const ids = rows.map(({ id }) => id);
    const keys = await idempotencyKey.findMany({
      where: { taskId: { in: inList(ids) }, expiresAt: { gt: new Date() } },
      select: { taskId: true },
    });
    const kept = new Set([...keys.map(({ taskId }) => taskId), ...(await this.withWebhooks(rows))]);
    const { count } = await task.deleteMany({ where: { id: { in: inList(ids.filter((id) => !kept.has(id))) } } });
    if (count > 0) this.logger.info('retention.tasks_deleted', { count });
    return rows.length === BATCH ? rows.at(-1) : undefined;
  }

  private async dueRows(
    hours: number,
    where: { objectsDeletedAt?: { not: null } },
    after: EndedTask | undefined,
  ): Promise<EndedTask[]> {
    return this.prisma.task.findMany({
      where: {
        ...EXPIRING,
        ...where,
        finishedAt: { lt: hoursAgo(hours), ...definedFields({ gte: after?.finishedAt ?? undefined }) },
        ...(after && { NOT: { finishedAt: after.finishedAt, id: { lte: after.id } } }),
      },
      orderBy: [{ finishedAt: 'asc' }, { id: 'asc' }],
      take: BATCH,
      select: { id: true, finishedAt: true },
    });
  }

  /** Those with webhooks that are still tried, or have ended since. */
  private async withWebhooks(tasks: readonly EndedTask[], endedSince?: Date): Promise<ReadonlySet<string>> {
    return await tasksWithDeliveries(
      this.prisma,
      tasks.map(({ id }) => id),
      endedSince,
    );
  }
}

function hoursAgo(hours: number): Date {
  return new Date(Date.now() - hours * 3_600_000);
}

function hoursAfter(date: Date | null | undefined, hours: number): Date | undefined {
  return date ? new Date(date.getTime() + hours * 3_600_000) : undefined;
}

/** The keys of the task's own objects; an upload that it refers to expires separately. */
function keysOf({ id, images, ...sent }: { id: string; images: unknown; inputs: unknown; mask: unknown }): string[] {
  // A worker may have stored a thumbnail without getting to record it.
  const imageKeys = toImages(images).flatMap(({ key }) => [key, thumbnailKey(key)]);
  return [...imageKeys, ...sentKeys(sent)].filter((key) => ownerOfKey(key).id === id);
}
