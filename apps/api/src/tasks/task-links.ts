import { Inject, Injectable } from '@nestjs/common';
import type { ImageLink } from '#contract/image-result.js';
import { FREE_PROVIDERS } from '#providers/free-providers.js';
import { RESULT_LIFE_SECONDS, ResultLinks } from '#storage/result-links.js';
import { taskView, type TaskView } from '#contract/task-view.js';
import type { TaskImage, TaskSummary } from '#tasks/task.js';

/** Signs addresses for the pictures of tasks, anew at every read. */
@Injectable()
export class TaskLinks {
  constructor(@Inject(ResultLinks) private readonly links: ResultLinks) {}

  /** The task as every answer channel shows it. */
  view(task: TaskSummary): TaskView {
    return taskView({ ...task, charged: chargeOf(task) }, (image) => this.linkTo(task, image));
  }

  /** No address once the picture's life is over. */
  linkTo(task: TaskSummary, image: TaskImage): ImageLink {
    const finishedAt = task.finishedAt ?? task.createdAt;
    const link = this.links.linkFor({ objectKey: image.key, finishedAt });
    if (link !== undefined) return link;
    return { url: undefined, expiresAt: Math.floor(finishedAt.getTime() / 1000) + RESULT_LIFE_SECONDS };
  }
}

/** A call that was cut short may have been charged all the same, unless its provider charges nothing. */
function chargeOf(task: TaskSummary): 'none' | 'unknown' {
  return task.openProvider === null || FREE_PROVIDERS.includes(task.openProvider) ? 'none' : 'unknown';
}
