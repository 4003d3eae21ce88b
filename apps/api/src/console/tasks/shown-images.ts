import { Injectable } from '@nestjs/common';
import { TaskLinks } from '#answers/task-links.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import type { TaskView } from '#contract/task-view.js';
import type { QueuePosition } from '#queue/fair-order.js';
import { thumbnailKey } from '#storage/object-key.js';
import { ResultLinks } from '#storage/result-links.js';
import type { TaskDetail } from '#tasks/reading/task-details.js';
import type { TaskSummary } from '#tasks/row/task.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';
import type { ConsoleTaskView } from './dto/task-views.dto.js';

/** The images of tasks, as the console shows them. */
@Injectable()
export class ShownImages {
  private readonly origin: string;

  constructor(
    private readonly links: TaskLinks,
    private readonly results: ResultLinks,
    private readonly source: CatalogSource,
    config: ApiConfig,
  ) {
    this.origin = new URL(publicUrlOf(config)).origin;
  }

  /** The public API's view; links of favorites stay valid as long as their images are kept. */
  view(task: TaskSummary, { isFavorite }: Pick<TaskDetail, 'isFavorite'>, position?: QueuePosition): TaskView {
    return this.links.view({ ...task, isKept: isFavorite }, position);
  }

  /** Empty once the images were deleted. */
  of({ result }: TaskView, { objectsDeletedAt }: TaskDetail): ConsoleTaskView['images'] {
    if (objectsDeletedAt !== null) return [];
    return (result?.images ?? []).flatMap(({ url: [url], expires_at: end, size, content_type }) => {
      if (url === undefined) return [];
      return [{ url: this.ownPath(url), url_expires_at: new Date(end * 1_000).toISOString(), size, content_type }];
    });
  }

  /** Until when the images are kept; undefined when there are none, and for favorites. */
  expireAt({ status, finishedAt }: TaskSummary, { objectsDeletedAt, isFavorite }: TaskDetail): Date | undefined {
    if (status !== 'completed' || finishedAt === null || objectsDeletedAt !== null || isFavorite) return undefined;
    return new Date(this.results.objectExpiresAt(finishedAt) * 1_000);
  }

  /** The thumbnail, or the full image when there is none: it may be small, or its worker was killed. */
  thumbnailOf(task: TaskSummary, detail: TaskDetail): string | undefined {
    const [image] = task.status === 'completed' && detail.objectsDeletedAt === null ? (task.images ?? []) : [];
    if (image === undefined) return undefined;
    const shown = detail.hasThumbnail ? { key: thumbnailKey(image.key) } : image;
    const { url } = this.links.linkTo({ ...task, isKept: detail.isFavorite }, shown);
    return url === undefined ? undefined : this.ownPath(url);
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
