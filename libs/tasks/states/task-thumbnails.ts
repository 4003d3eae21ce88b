import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { toImages } from '../row/task-columns.js';
import type { TaskImage } from '../row/task.js';

/** A completed task's first image, and whose it is. */
interface OwnedImage {
  readonly accountId: string;
  readonly image: TaskImage;
}

/** Which tasks have a thumbnail of their first image. */
@Injectable()
export class TaskThumbnails {
  constructor(private readonly prisma: PrismaService) {}

  /** The task's first image; undefined when it has none, has a thumbnail, or its objects were deleted. */
  async imageWithout(taskId: string): Promise<OwnedImage | undefined> {
    const row = await this.prisma.task.findUnique({
      where: { id: taskId, status: 'completed', objectsDeletedAt: null, hasThumbnail: false },
      select: { accountId: true, images: true },
    });
    const [image] = toImages(row?.images);
    return row === null || image === undefined ? undefined : { accountId: row.accountId, image };
  }

  /** Records a stored thumbnail; false when the task or its objects were deleted meanwhile. */
  async record(taskId: string): Promise<boolean> {
    const { count } = await this.prisma.task.updateMany({
      where: { id: taskId, objectsDeletedAt: null },
      data: { hasThumbnail: true },
    });
    return count === 1;
  }
}
