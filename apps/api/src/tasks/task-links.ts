import { Inject, Injectable } from '@nestjs/common';
import type { ImageLink } from '#contract/image-result.js';
import { RESULT_LIFE_SECONDS, ResultLinks } from '#storage/result-links.js';
import type { TaskImage, TaskSummary } from '#tasks/task.js';

/** Signs addresses for the pictures of tasks, anew at every read. */
@Injectable()
export class TaskLinks {
  constructor(@Inject(ResultLinks) private readonly links: ResultLinks) {}

  /** No address once the picture's life is over. */
  linkTo(task: TaskSummary, image: TaskImage): ImageLink {
    const finishedAt = task.finishedAt ?? task.createdAt;
    const link = this.links.linkFor({ objectKey: image.key, finishedAt });
    if (link !== undefined) return link;
    return { url: undefined, expiresAt: Math.floor(finishedAt.getTime() / 1000) + RESULT_LIFE_SECONDS };
  }
}
