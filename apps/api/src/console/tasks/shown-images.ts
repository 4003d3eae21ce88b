import { Injectable } from '@nestjs/common';
import { TaskLinks } from '#answers/task-links.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import type { TaskView } from '#contract/task-view.js';
import type { QueuePosition } from '#queue/fair-order.js';
import { needsThumbnail, THUMBNAIL_TYPE } from '#images/limits.js';
import { thumbnailKey } from '#storage/object-key.js';
import { StorageConfig } from '#storage/storage.config.js';
import type { TaskDetail } from '#tasks/reading/task-details.js';
import type { TaskSummary } from '#tasks/row/task.js';
import { ApiConfig, publicPathOf, publicUrlOf } from '../../common/api.config.js';
import { CONSOLE_API } from '../protect-console.js';
import { imageFileName } from './image-file-name.js';
import type { ConsoleTaskView } from './dto/task-views.dto.js';

/** What shows a task's first image in a list. */
export interface SmallImage {
  readonly url: string;
  /** Where it is in the object store. */
  readonly key: string;
  readonly contentType: string;
  /** The URL leads to the image itself, and a thumbnail can be created. */
  readonly lacksThumbnail: boolean;
}

/** The images of tasks, as the console shows them. */
@Injectable()
export class ShownImages {
  private readonly origin: string;
  private readonly path: string;

  constructor(
    private readonly links: TaskLinks,
    private readonly source: CatalogSource,
    private readonly storage: StorageConfig,
    config: ApiConfig,
  ) {
    this.origin = new URL(publicUrlOf(config)).origin;
    this.path = publicPathOf(config);
  }

  /** The public API's view; links of favorites stay valid as long as their images are kept. */
  view(task: TaskSummary, { isFavorite }: Pick<TaskDetail, 'isFavorite'>, position?: QueuePosition): TaskView {
    return this.links.view({ ...task, isKept: isFavorite }, position);
  }

  /** Empty once the images were deleted. */
  of({ result }: TaskView, { id: taskId, prompt, objectsDeletedAt }: TaskDetail): ConsoleTaskView['images'] {
    const images = objectsDeletedAt === null ? (result?.images ?? []) : [];
    return images.flatMap(({ url: [url], expires_at: end, size, content_type: contentType }, index) => {
      if (url === undefined) return [];
      return [
        {
          url: this.ownPath(url),
          url_expires_at: new Date(end * 1_000).toISOString(),
          size,
          content_type: contentType,
          file_name: imageFileName({ taskId, prompt, contentType, index, count: images.length }),
        },
      ];
    });
  }

  /** Until when the images are kept; undefined when there are none, and for favorites. */
  expireAt(task: TaskSummary, { objectsDeletedAt, isFavorite }: TaskDetail): Date | undefined {
    const { status, finishedAt } = task;
    if (status !== 'completed' || finishedAt === null || objectsDeletedAt !== null || isFavorite) return undefined;
    return new Date(this.links.expiryOf(task) * 1_000);
  }

  /** The URL for lists; where the thumbnail is lacking, of the route that has it created (Thumbnails). */
  thumbnailOf(task: TaskSummary, detail: TaskDetail): string | undefined {
    const small = this.small(task, detail);
    return small?.lacksThumbnail === true ? `${this.path}${CONSOLE_API}/tasks/${task.id}/thumbnail` : small?.url;
  }

  /** The thumbnail, or the image itself while there is none; undefined when there is no image, or no longer. */
  small(task: TaskSummary, detail: TaskDetail): SmallImage | undefined {
    const [image] = task.status === 'completed' && detail.objectsDeletedAt === null ? (task.images ?? []) : [];
    if (image === undefined) return undefined;
    const shown = detail.hasThumbnail ? { key: thumbnailKey(image.key), contentType: THUMBNAIL_TYPE } : image;
    const { url } = this.links.linkTo({ ...task, isKept: detail.isFavorite }, shown);
    if (url === undefined) return undefined;
    const lacksThumbnail = !detail.hasThumbnail && this.storage.thumbnails && needsThumbnail(image);
    const { key, contentType } = shown;
    return { url: this.ownPath(url), key, contentType, lacksThumbnail };
  }

  /** Whether the sandbox generated the images; false for a provider that is no longer in the catalog. */
  isSandbox({ provider }: TaskDetail): boolean {
    return provider !== null && this.source.current.providers.get(provider)?.type === 'sandbox';
  }

  /**
   * Makes a link to this service relative: pages may be open at another host, and their policy allows only their own.
   */
  private ownPath(url: string): string {
    return url.startsWith(`${this.origin}/`) ? url.slice(this.origin.length) : url;
  }
}
