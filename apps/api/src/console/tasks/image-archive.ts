import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { AppError } from '#contract/app-error.js';
import { isTaskId } from '#tasks/row/task-id.js';
import { TaskDetails } from '#tasks/reading/task-details.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import type { TaskImage, TaskScope } from '#tasks/row/task.js';
import { LinkReads } from '../../files/link-reads.js';
import { imageFileName } from './image-file-name.js';

export const MAX_TASKS = 100;
const MAX_BYTES = 2_000_000_000;
/** Code points of a prompt; the name needs fewer. */
const NAMED_BY = 200;

/** An image in an archive. */
interface ArchivedImage extends Pick<TaskImage, 'key' | 'bytes'> {
  readonly name: string;
  readonly time: Date;
}

/** Packs the images of several tasks in one file to download. */
@Injectable()
export class ImageArchive {
  constructor(
    private readonly tasks: TaskStore,
    private readonly details: TaskDetails,
    private readonly reads: LinkReads,
  ) {}

  /**
   * The stored images of tasks. Throws AppError `task_not_found` for a task that is not in the scope, `file_not_found`
   * when no image is stored any more, and `invalid_value` when the ids are no ids, too many, or their images too large.
   */
  async images(scope: TaskScope, ids: readonly string[]): Promise<ArchivedImage[]> {
    if (ids.length > MAX_TASKS || !ids.every(isTaskId)) {
      throw new AppError('invalid_value', `ids must be 1 to ${MAX_TASKS} task IDs, separated by commas.`, {
        param: 'ids',
      });
    }
    const tasks = await this.tasks.findAll(scope, ids);
    if (new Set(ids).size > tasks.length) throw new AppError('task_not_found', 'Task not found.');
    const details = await this.details.of(scope.accountId, ids, NAMED_BY);
    const images = tasks.flatMap(({ id: taskId, images: stored, createdAt: time }) => {
      const detail = details.get(taskId);
      if (detail === undefined || detail.objectsDeletedAt !== null || stored === null) return [];
      const { prompt } = detail;
      return stored.map(({ key, bytes, contentType }, index) => ({
        key,
        bytes,
        name: imageFileName({ taskId, prompt, contentType, index, count: stored.length }),
        time,
      }));
    });
    if (images.length === 0) throw new AppError('file_not_found', 'The images are no longer available.');
    const bytes = images.reduce((sum, image) => sum + image.bytes, 0);
    if (bytes > MAX_BYTES) {
      const message = `These images have ${(bytes / 1e9).toFixed(1)} GB together. Up to ${MAX_BYTES / 1e9} GB can be downloaded at once.`;
      throw new AppError('invalid_value', message, { param: 'ids' });
    }
    return images;
  }

  /**
   * A zip file with the images as they are, whose bytes will be this response. Opens one after the other, as the caller
   * reads them. If one can't be read, the response breaks off, so that no part passes for the whole.
   */
  pack(images: readonly ArchivedImage[], reply: FastifyReply): Readable {
    const zip = new ZipFile();
    // The type of its stream promises less than it is.
    const body = zip.outputStream as Readable;
    let open: Readable | undefined;
    const breakOff = (error: Error): void => void body.destroy(error);
    zip.on('error', breakOff);
    body.once('close', () => open?.destroy());
    for (const { key, bytes: size, name, time: mtime } of images) {
      // Images are compressed already.
      zip.addReadStreamLazy(name, { compress: false, size, mtime }, (give) => {
        this.reads.read(key, reply).then(({ stream }) => {
          open = stream;
          stream.once('error', breakOff);
          if (body.destroyed) stream.destroy();
          else give(null, stream);
        }, breakOff);
      });
    }
    zip.end();
    return body;
  }
}
