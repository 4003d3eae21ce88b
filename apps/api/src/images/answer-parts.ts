import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { isErrorCode } from '#contract/error-codes.js';
import { ignoredParamsHeader } from '#contract/request-fields.js';
import { pollUrl } from '#contract/task-acceptance.js';
import { isFinal } from '#tasks/row/task-status.js';
import type { TaskSummary } from '#tasks/row/task.js';
import type { Accepted } from './accept-image.js';

/** Puts the call's task, and the names of ignored fields, in the log and headers. */
export function nameTask(request: FastifyRequest, reply: FastifyReply, accepted: Accepted): void {
  const { task, attached, mark, ignored } = accepted;
  request.taskId = task.id;
  request.attached = attached;
  void reply.header('x-task-id', task.id);
  if (attached && mark.kind === 'key' && isFinal(task.status)) void reply.header('idempotency-replayed', 'true');
  const ignoredParams = ignoredParamsHeader(ignored);
  if (ignoredParams !== undefined) void reply.header('x-ignored-params', ignoredParams);
}

/** The error for a task that has not ended. */
export function stillRunning(taskId: string): AppError {
  return new AppError('still_running', `The image is not ready yet. Poll ${pollUrl(taskId)} to get it.`, { taskId });
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
