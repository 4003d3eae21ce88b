import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { isErrorCode } from '#contract/error-codes.js';
import { ignoredParamsHeader } from '#contract/request-fields.js';
import { pollUrl } from '#contract/task-acceptance.js';
import type { ObjectStore, StoredObject } from '#storage/object-store.js';
import { isFinal } from '#tasks/task-status.js';
import type { TaskImage, TaskSummary } from '#tasks/task.js';
import type { Accepted } from './accept-image.js';

/** Says in log and headers which task a call belongs to, and what of it was ignored. */
export function nameTask(request: FastifyRequest, reply: FastifyReply, accepted: Accepted): void {
  const { task, attached, mark, ignored } = accepted;
  request.taskId = task.id;
  request.attached = attached;
  void reply.header('x-task-id', task.id);
  if (attached && mark.kind === 'key' && isFinal(task.status)) void reply.header('idempotency-replayed', 'true');
  const ignoredParams = ignoredParamsHeader(ignored);
  if (ignoredParams !== undefined) void reply.header('x-ignored-params', ignoredParams);
}

/** What a caller is told whose task has not ended. */
export function stillRunning(taskId: string): AppError {
  return new AppError('still_running', `The image is not ready yet. Poll ${pollUrl(taskId)} for it.`, { taskId });
}

/** The error of a task that ended without an image. */
export function failureOf(task: TaskSummary): AppError {
  if (task.status === 'cancelled') {
    return new AppError('task_cancelled', 'The task was cancelled.', { taskId: task.id });
  }
  const { code, message, param } = task.error ?? {
    code: null,
    message: 'The image could not be generated.',
    param: null,
  };
  return new AppError(isErrorCode(code) ? code : 'internal_error', message, {
    taskId: task.id,
    ...(param === null ? {} : { param }),
  });
}

/**
 * Opens a task's images: the first now, each other one when it is read. Throws AppError `storage_error` when that can't be;
 * another one that can't be read fails in the middle of the answer.
 */
export async function openStoredImages(store: ObjectStore, task: TaskSummary): Promise<StoredObject[]> {
  const [first, ...others] = task.images ?? [];
  if (first === undefined) return [];
  const opened = await openStoredImage(store, task, first);
  return [opened, ...others.map((image) => ({ bytes: image.bytes, stream: openedWhenRead(store, task, image) }))];
}

function openedWhenRead(store: ObjectStore, task: TaskSummary, image: TaskImage): Readable {
  const bytes = async function* (): AsyncGenerator<Buffer> {
    const { stream } = await openStoredImage(store, task, image);
    yield* stream as AsyncIterable<Buffer>;
  };
  return Readable.from(bytes(), { objectMode: false });
}

async function openStoredImage(store: ObjectStore, task: TaskSummary, image: TaskImage): Promise<StoredObject> {
  return store.open(image.key).catch((cause: unknown) => {
    throw new AppError('storage_error', 'The image cannot be read right now. Poll the task for a link.', {
      taskId: task.id,
      cause,
    });
  });
}
