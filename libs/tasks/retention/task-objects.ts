import { Injectable } from '@nestjs/common';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { ownerOfKey, thumbnailKey } from '#storage/object-key.js';
import { sentKeys, toImages } from '../row/task-columns.js';
import { forgetStoredInputs } from './stored-inputs.js';

/** A task, and the keys of the objects that it names. */
export interface StoredTask {
  readonly id: string;
  readonly isPending: boolean;
  readonly results: readonly string[];
  readonly thumbnail: string | undefined;
  /** Keys of the images that came with the request, including uploads. */
  readonly sent: readonly string[];
}

/** Which objects belong to tasks. */
@Injectable()
export class TaskObjects {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * The keys that belong to a task; a thumbnail, recorded or not, belongs to it as long as its image does. A pending task
   * owns every key under its id, because its writers may be at work; one whose objects were deleted owns none, so what a
   * late writer left is an orphan. Throws when the database fails.
   */
  async known(keys: readonly string[]): Promise<ReadonlySet<string>> {
    const ids = [...new Set(keys.map((key) => ownerOfKey(key).id))];
    const rows = await this.prisma.task.findMany({
      where: { id: { in: inList(ids) }, objectsDeletedAt: null },
      select: { id: true, status: true, images: true, inputs: true, mask: true },
    });
    const pending = new Set(rows.filter((row) => row.status === 'pending').map((row) => row.id));
    const own = rows.flatMap(({ images, ...sent }) => [
      ...toImages(images).flatMap(({ key }) => [key, thumbnailKey(key)]),
      ...sentKeys(sent),
    ]);
    return new Set([...own, ...keys.filter((key) => pending.has(ownerOfKey(key).id))]);
  }

  /** A page of the tasks whose objects were not deleted, ordered by id. */
  async page(after: string, limit: number): Promise<StoredTask[]> {
    const rows = await this.prisma.task.findMany({
      where: { id: { gt: after }, objectsDeletedAt: null },
      orderBy: { id: 'asc' },
      take: limit,
      select: { id: true, status: true, hasThumbnail: true, images: true, inputs: true, mask: true },
    });
    return rows.map(({ id, status, hasThumbnail, images, ...sent }) => {
      const results = toImages(images).map(({ key }) => key);
      const thumbnail = hasThumbnail ? results.slice(0, 1).map(thumbnailKey)[0] : undefined;
      return { id, isPending: status === 'pending', results, thumbnail, sent: sentKeys(sent) };
    });
  }

  /** Marks the images of an ended task as deleted, as if retention had removed them. */
  async markDeleted(id: string): Promise<void> {
    const where = { id, status: { not: 'pending' }, objectsDeletedAt: null };
    await forgetStoredInputs(this.prisma, [id]);
    await this.prisma.task.updateMany({ where, data: { objectsDeletedAt: new Date() } });
  }

  /** No longer counts orphans of these keys in the quota of an account; call it before they are deleted. */
  async forget(keys: readonly string[]): Promise<void> {
    const ofInputs = keys.filter((key) => key.startsWith('inputs/'));
    await forgetStoredInputs(this.prisma, [...new Set(ofInputs.map((key) => ownerOfKey(key).id))]);
  }

  /** Marks a task as having no thumbnail, so that lists show the whole image instead. */
  async markWithoutThumbnail(id: string): Promise<void> {
    await this.prisma.task.updateMany({ where: { id }, data: { hasThumbnail: false } });
  }
}
