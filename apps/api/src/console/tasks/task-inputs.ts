import { Inject, Injectable } from '@nestjs/common';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import { contentTypeOf, sniffInputType, type InputContentType } from '#images/sniff.js';
import { ObjectNotFound, type ObjectStore, type StoredObject } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { TaskDetails } from '#tasks/reading/task-details.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import type { TaskScope } from '#tasks/row/task.js';

/** A reference image or mask of a task. */
export interface OpenedInput extends StoredObject {
  readonly contentType: InputContentType;
}

/** The reference images and masks of tasks, only for users who may see the task. */
@Injectable()
export class TaskInputs {
  constructor(
    private readonly tasks: TaskStore,
    private readonly details: TaskDetails,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
  ) {}

  /**
   * `name`: its index from 0, or `mask`. Throws AppError `file_not_found` when it does not exist, was deleted, or is
   * not an image, and `server_is_overloaded` when the store does not answer. The caller must consume or destroy the
   * stream.
   */
  async open(scope: TaskScope, taskId: string, name: string): Promise<OpenedInput> {
    if (!(await this.tasks.within(scope, [taskId])).has(taskId)) throw missing();
    const order = await this.details.order(scope.accountId, taskId);
    const input = name === 'mask' ? order?.mask : order?.inputs[Number(name)];
    if (input?.kind !== 'object') throw missing();
    const stored = await this.store.open(input.key).catch(unreadable);
    // Uploads were never decoded here, so only bytes that start like an image are served, and only under that type.
    const type = sniffInputType(await firstBytes(stored.stream).catch(unreadable));
    if (type !== undefined) return { ...stored, contentType: contentTypeOf(type) };
    stored.stream.destroy();
    throw missing();
  }
}

/** Reads the first bytes and puts them back, so that the stream can be read from its start. */
async function firstBytes(stream: Readable): Promise<Buffer> {
  await once(stream, 'readable');
  const chunk = stream.read() as Buffer | null;
  if (chunk !== null) stream.unshift(chunk);
  return chunk ?? Buffer.alloc(0);
}

function unreadable(cause: unknown): never {
  if (cause instanceof ObjectNotFound) throw missing();
  throw unavailable('The image cannot be read right now.', { retryAfter: 5, cause });
}

function missing(): AppError {
  return new AppError('file_not_found', 'The image is no longer available.');
}
