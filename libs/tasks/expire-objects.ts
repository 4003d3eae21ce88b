import { Inject, Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { ownerOfKey, thumbnailKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { Logger } from '#telemetry/logger.js';
import type { TaskImage, TaskInput } from './task.js';

const BATCH = 200;

/** How long after their end. */
interface Retention {
  readonly imageRetentionHours: number;
  readonly taskRetentionHours: number;
}

interface ExpiredRow {
  id: string;
  images: TaskImage[] | null;
  inputs: TaskInput[];
  mask: TaskInput | null;
}

/**
 * Removes what is past its retention: first the objects, then, later, the rows.
 * Deleting twice does no harm, so every worker may do it; rows in another's hands are skipped.
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
    while ((await this.deleteRows(taskRetentionHours)) === BATCH);
  }

  private async expireObjects(hours: number): Promise<number> {
    const { rows } = await this.prisma.pool.query<ExpiredRow>({
      text: `SELECT id, images, inputs, mask FROM tasks
        WHERE status <> 'pending' AND objects_deleted_at IS NULL AND finished_at < now() - $1 * interval '1 hour'
        ORDER BY finished_at LIMIT ${BATCH}`,
      values: [hours],
    });
    for (const row of rows) {
      for (const key of keysOf(row)) await this.store.delete(key);
      await this.prisma.pool.query({
        text: 'UPDATE tasks SET objects_deleted_at = now() WHERE id = $1 AND objects_deleted_at IS NULL',
        values: [row.id],
      });
    }
    if (rows.length > 0) this.logger.info('retention.objects_deleted', { count: rows.length });
    return rows.length;
  }

  /** A task that a live Idempotency-Key stands for is still to be answered with. */
  private async deleteRows(hours: number): Promise<number> {
    const { rowCount } = await this.prisma.pool.query({
      text: `DELETE FROM tasks WHERE id IN (SELECT id FROM tasks
        WHERE status <> 'pending' AND objects_deleted_at IS NOT NULL AND finished_at < now() - $1 * interval '1 hour'
          AND NOT EXISTS (SELECT FROM idempotency_keys WHERE task_id = tasks.id AND expires_at > now())
        ORDER BY finished_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
      values: [hours],
    });
    if (rowCount) this.logger.info('retention.tasks_deleted', { count: rowCount });
    return rowCount ?? 0;
  }
}

/** The task's own objects; an upload that it only named has a life of its own. */
function keysOf(row: ExpiredRow): string[] {
  const inputs = row.mask === null ? row.inputs : [...row.inputs, row.mask];
  const inputKeys = inputs.flatMap((input) => (input.kind === 'object' ? [input.key] : []));
  // The worker that made a thumbnail may not have come to note it.
  const imageKeys = (row.images ?? []).flatMap(({ key }) => [key, thumbnailKey(key)]);
  return [...imageKeys, ...inputKeys].filter((key) => ownerOfKey(key).id === row.id);
}
