import { Inject, Injectable } from '@nestjs/common';
import { given, inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { ownerOfKey, thumbnailKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { Logger } from '#telemetry/logger.js';
import { sentKeys, toImages } from './task-columns.js';

const BATCH = 200;
/** Tasks whose objects are deleted at once: a store that takes 20 ms for each object would else keep up with 20 tasks a second. */
const AT_ONCE = 16;

/** How long after their end. */
interface Retention {
  readonly imageRetentionHours: number;
  readonly taskRetentionHours: number;
}

/** As the index of ended tasks says it; favorites are kept. */
const EXPIRING = { status: { not: 'pending' }, favoritedAt: null };

interface EndedTask {
  readonly id: string;
  readonly finishedAt: Date | null;
}

/**
 * Removes what is past its retention and no favorite: first the objects, then, later, the rows.
 * Deleting twice does no harm, so every worker may do it.
 */
@Injectable()
export class ExpireObjects {
  constructor(
    private readonly prisma: PrismaService,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly logger: Logger,
  ) {}

  /** One round over everything that is due. Throws when the database or the store fails; the next round goes on. */
  async run({ imageRetentionHours, taskRetentionHours }: Retention): Promise<void> {
    while ((await this.expireObjects(imageRetentionHours)) === BATCH);
    let last = await this.deleteRows(taskRetentionHours);
    while (last !== undefined) last = await this.deleteRows(taskRetentionHours, last);
  }

  /** Since when the oldest images that are still stored should be gone; undefined when none should. */
  async imagesDueSince({ imageRetentionHours }: Retention): Promise<Date | undefined> {
    const due = hoursAgo(imageRetentionHours);
    const oldest = await this.oldest({ objectsDeletedAt: null, finishedAt: { lt: due } });
    return oldest && hoursAfter(oldest, imageRetentionHours);
  }

  /** The same of rows. One that a live Idempotency-Key keeps counts too, for a day at most. */
  async rowsDueSince({ taskRetentionHours }: Retention): Promise<Date | undefined> {
    const oldest = await this.oldest({ finishedAt: { lt: hoursAgo(taskRetentionHours) } });
    return oldest && hoursAfter(oldest, taskRetentionHours);
  }

  private async oldest(where: { objectsDeletedAt?: null; finishedAt: { lt: Date } }): Promise<Date | undefined> {
    const oldest = await this.prisma.task.findFirst({
      where: { ...EXPIRING, ...where },
      orderBy: { finishedAt: 'asc' },
      select: { finishedAt: true },
    });
    return oldest?.finishedAt ?? undefined;
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
    await task.updateMany({
      where: { id: { in: inList(rows.map(({ id }) => id)) }, objectsDeletedAt: null },
      data: { objectsDeletedAt: new Date() },
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
   * Deletes some of the oldest rows, and answers with the last it came by while there may be more. A task that a live
   * Idempotency-Key stands for is still to be answered with.
   */
  private async deleteRows(hours: number, after?: EndedTask): Promise<EndedTask | undefined> {
    const { task, idempotencyKey } = this.prisma;
    const rows = await task.findMany({
      where: {
        ...EXPIRING,
        objectsDeletedAt: { not: null },
        finishedAt: { lt: hoursAgo(hours), ...given({ gte: after?.finishedAt ?? undefined }) },
        ...(after && { NOT: { finishedAt: after.finishedAt, id: { lte: after.id } } }),
      },
      orderBy: [{ finishedAt: 'asc' }, { id: 'asc' }],
      take: BATCH,
      select: { id: true, finishedAt: true },
    });
    const ids = rows.map(({ id }) => id);
    const keys = await idempotencyKey.findMany({
      where: { taskId: { in: inList(ids) }, expiresAt: { gt: new Date() } },
      select: { taskId: true },
    });
    const kept = new Set(keys.map(({ taskId }) => taskId));
    const { count } = await task.deleteMany({ where: { id: { in: inList(ids.filter((id) => !kept.has(id))) } } });
    if (count > 0) this.logger.info('retention.tasks_deleted', { count });
    return rows.length === BATCH ? rows.at(-1) : undefined;
  }
}

function hoursAgo(hours: number): Date {
  return new Date(Date.now() - hours * 3_600_000);
}

function hoursAfter(date: Date, hours: number): Date {
  return new Date(date.getTime() + hours * 3_600_000);
}

/** The task's own objects; an upload that it only named has a life of its own. */
function keysOf({ id, images, ...sent }: { id: string; images: unknown; inputs: unknown; mask: unknown }): string[] {
  // The worker that made a thumbnail may not have come to note it.
  const imageKeys = toImages(images).flatMap(({ key }) => [key, thumbnailKey(key)]);
  return [...imageKeys, ...sentKeys(sent)].filter((key) => ownerOfKey(key).id === id);
}
