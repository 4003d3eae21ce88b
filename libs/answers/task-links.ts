import { Injectable } from '@nestjs/common';
import type { QueuePosition } from '#queue/fair-order.js';
import { ResultLinks } from '#storage/result-links.js';
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

  /** The tasks as every answer channel shows them; waiting ones with their positions in the queue. */
  async views(tasks: readonly TaskSummary[]): Promise<TaskView[]> {
    const positions = await this.estimates.positions(tasks);
    return tasks.map((task) => this.view(task, positions.get(task.id)));
  }

  /** Like `views`, for one task whose position, if it has one, is given. */
  view(task: KeptTask, position?: QueuePosition): TaskView {
    const viewed = {
      ...task,
      charged: task.mayBeCharged ? ('unknown' as const) : ('none' as const),
      ...this.estimates.outlook(task, position),
    };
    return taskView(viewed, (image) => this.linkTo(task, image));
  }

  /** The link to an image, without a URL once the image has expired. */
  linkTo(task: KeptTask, image: Pick<TaskImage, 'key'>): ImageLink {
    const finishedAt = task.finishedAt ?? task.createdAt;
    const link = this.links.linkFor({ objectKey: image.key, finishedAt, isKept: task.isKept === true });
    if (link !== undefined) return link;
    return { url: undefined, expiresAt: this.links.objectExpiresAt(finishedAt) };
  }
}
