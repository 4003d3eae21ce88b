import type { LabelKind } from '#billing/label-limits.js';
import { AppError } from '#contract/app-error.js';
import { MAX_HELD } from './approval.js';

/** Seconds after which a refused caller may retry. */
const RETRY_AFTER = 2;

const OWNERS: Readonly<Record<'key' | 'account' | LabelKind, string>> = {
  key: 'This API key',
  account: 'The account of this API key',
  end_user: 'This end user',
  tag: 'A tag of this request',
};

/** The key, all keys of its account together, or a label have reached their limit of tasks in flight. */
export function tooManyTasks({ of, limit }: { of: keyof typeof OWNERS; limit: number }): AppError {
  return new AppError('concurrency_limit_exceeded', `${OWNERS[of]} is limited to ${limit} tasks in flight.`, {
    retryAfter: RETRY_AFTER,
  });
}

/** The task would wait past its deadline; in `roomInMs`, a task like it would not. */
export function queueFull(roomInMs: number): AppError {
  return new AppError('queue_full', 'The queue is too long for this task to finish in time. Please try again later.', {
    retryAfter: Math.ceil(roomInMs / 1_000),
  });
}

/** The account has as many tasks that wait for an approval as it may. */
export function tooManyHeld(): AppError {
  const text = `${MAX_HELD} requests of this account wait for an approval. No more are accepted until some are approved or rejected.`;
  return new AppError('concurrency_limit_exceeded', text, { retryAfter: 60 });
}
