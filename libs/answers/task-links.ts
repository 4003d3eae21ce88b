import { Injectable } from '@nestjs/common';
import type { QueuePosition } from '#queue/fair-order.js';
import { ResultLinks } from '#storage/result-links.js';
import { imageTaskView, type ImageTaskView } from '#contract/image-task-view.js';
import { taskView, type ImageLink, type TaskView } from '#contract/task-view.js';
import { TaskEstimates } from '#tasks/admission/task-estimates.js';
import type { TaskImage, TaskSummary } from '#tasks/row/task.js';

/** A task, and whether retention keeps it; absent where unknown, because polls do not read it. */
type KeptTask = TaskSummary & { readonly isKept?: boolean };

/** Tasks as callers see them, with image URLs that are signed at every read. */
@Injectable()
export class TaskLinks {
  constructor(
    private readonly links: ResultLinks,
    private readonly estimates: TaskEstimates,
  ) {}

  /** The task as every answer channel shows it. `position`, `heldMs`: like `TaskEstimates.outlook`. */
  view(task: KeptTask, position?: QueuePosition, heldMs?: number | null): TaskView {
    const viewed = {
      ...task,
      charged: task.mayBeCharged ? ('unknown' as const) : ('none' as const),
      ...this.estimates.outlook(task, position, heldMs),
    };
    return taskView(viewed, (image) => this.linkTo(task, image));
  }

  /** The task in the dialect of sub2api; undefined once its images have expired. */
  imageTask(task: TaskSummary): ImageTaskView | undefined {
    const urls = (task.images ?? []).flatMap((image) => this.linkTo(task, image).url ?? []);
    if (task.status === 'completed' && urls.length === 0) return undefined;
    return imageTaskView({ task, urls, expiresAt: this.expiryOf(task) });
  }

  /** Until when a task's images are kept, at least, in Unix seconds; without a lifetime, a favorite's are kept longer. */
  expiryOf({ createdAt, finishedAt, lifetime }: TaskSummary): number {
    const end = this.links.objectExpiresAt(finishedAt ?? createdAt);
    return typeof lifetime?.expiresAt === 'number' ? Math.min(end, Math.floor(lifetime.expiresAt / 1_000)) : end;
  }

  /** The link to an image, without a URL once the image has expired. */
  linkTo(task: KeptTask, image: Pick<TaskImage, 'key'>): ImageLink {
    const finishedAt = task.finishedAt ?? task.createdAt;
    const deletedAt = task.lifetime?.expiresAt;
    const link = this.links.linkFor({ objectKey: image.key, finishedAt, isKept: task.isKept === true, deletedAt });
    return link ?? { url: undefined, expiresAt: this.expiryOf(task) };
  }
}
