import type { LineFormat, LineOutcome } from '#batches/batch.js';
import type { TaskLinks } from '#answers/task-links.js';
import type { AppError } from '#contract/app-error.js';
import { imageResponse } from '#contract/image-response.js';
import type { Task } from '#tasks/row/task.js';
import { errorBody } from '../common/error-reply.js';
import { failureOf } from '../images/answer-image.js';

/** Why lines of a batch that ended early have no response. */
export const CANCELLED: LineOutcome = {
  response: null,
  error: { code: 'batch_cancelled', message: 'The batch was cancelled before this request was done.' },
};
export const EXPIRED: LineOutcome = {
  response: null,
  error: { code: 'batch_expired', message: 'This request was not done within the completion window of the batch.' },
};
/** The task was deleted before its batch had read it. */
export const TASK_GONE: LineOutcome = {
  response: null,
  error: { code: 'task_not_found', message: 'The task of this request was deleted.' },
};

/** A chat whose process ended, or lost its lease, while a provider was working on it. */
export const IN_DOUBT: LineOutcome = {
  response: null,
  error: {
    code: 'interrupted',
    message:
      'The process that sent this request ended before the response. It may have been answered and charged, so it is not sent again.',
  },
};

/** The response to a request that was refused. */
export function refusalOf(error: AppError, requestId: string): LineOutcome {
  return {
    response: { status_code: error.status, request_id: requestId, body: errorBody(error, requestId) },
    error: null,
  };
}

/** The response that the caller of an ended task would have got; its base64 is put in when it is downloaded. */
export function outcomeOf(task: Task, format: LineFormat, links: TaskLinks): LineOutcome {
  const [first, ...others] = task.images ?? [];
  if (task.status !== 'completed' || first === undefined) return refusalOf(failureOf(task), task.requestId);
  const images = [first, ...others];
  const data = images.map((image) => ({
    ...(format === 'b64_json' ? {} : { url: links.linkTo(task, image).url ?? '' }),
    ...(format === 'url' ? {} : { b64_json: '' }),
  }));
  const response = { status_code: 200, request_id: task.requestId, body: imageResponse(task, first, data) };
  if (format === 'url') return { response, error: null };
  return { response, error: null, images: images.map(({ key, bytes }) => ({ key, bytes })) };
}
