import { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AppError } from '#contract/app-error.js';
import type { ObjectStore, StoredObject } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import type { TaskImage, TaskSummary } from '#tasks/row/task.js';
import type { Accepted } from './accept-image.js';
import { DeliveryMarks } from './delivery-marks.js';

/** Opens a finished task's images for the caller that waited for it. */
@Injectable()
export class OpenImages {
  constructor(
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly marks: DeliveryMarks,
  ) {}

  /**
   * Opens the first image now, and the others when they are read, in the middle of the response. Throws AppError
   * `storage_error`; an equal request may then get the task, so that an image that briefly can't be read is not bought
   * again.
   */
  async open({ id, images }: TaskSummary, accepted: Accepted, reply: FastifyReply): Promise<StoredObject[]> {
    const [first, ...others] = images ?? [];
    if (first === undefined) return [];
    try {
      const opened = await this.openOne(id, first);
      return [opened, ...others.map((image) => ({ bytes: image.bytes, stream: this.openedWhenRead(id, image) }))];
    } catch (error) {
      await this.marks.markUndelivered(reply, accepted);
      throw error;
    }
  }

  private openedWhenRead(taskId: string, image: TaskImage): Readable {
    const bytes = async function* (this: OpenImages): AsyncGenerator<Buffer> {
      const { stream } = await this.openOne(taskId, image);
      yield* stream as AsyncIterable<Buffer>;
    };
    return Readable.from(bytes.call(this), { objectMode: false });
  }

  private async openOne(taskId: string, image: TaskImage): Promise<StoredObject> {
    return this.store.open(image.key).catch((cause: unknown) => {
      throw new AppError('storage_error', 'The image cannot be read right now. Poll the task for a link.', {
        taskId,
        cause,
      });
    });
  }
}
