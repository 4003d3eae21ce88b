import { Injectable } from '@nestjs/common';
import { inList } from '#database/in-list.js';
import { PrismaService } from '#database/prisma.service.js';
import { ownerOfKey, thumbnailKey } from '#storage/object-key.js';
import { sentKeys, toImages } from './task-columns.js';

/** Which objects belong to tasks. */
@Injectable()
export class TaskObjects {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * Those of the keys that a task knows. A pending task's own writers are left alone, whatever they have stored so far; a
   * task whose objects were deleted has none, so what a late writer left is found here. Throws when the database fails.
   */
  async known(keys: readonly string[]): Promise<ReadonlySet<string>> {
    const ids = [...new Set(keys.map((key) => ownerOfKey(key).id))];
    const rows = await this.prisma.task.findMany({
      where: { id: { in: inList(ids) }, objectsDeletedAt: null },
      select: { id: true, status: true, hasThumbnail: true, images: true, inputs: true, mask: true },
    });
    const pending = new Set(rows.filter((row) => row.status === 'pending').map((row) => row.id));
    const own = rows.flatMap(({ hasThumbnail, images, ...sent }) => {
      const imageKeys = toImages(images).map(({ key }) => key);
      return [...imageKeys, ...sentKeys(sent), ...(hasThumbnail ? imageKeys.slice(0, 1).map(thumbnailKey) : [])];
    });
    return new Set([...own, ...keys.filter((key) => pending.has(ownerOfKey(key).id))]);
  }
}
