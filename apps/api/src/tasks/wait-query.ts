import { AppError } from '#contract/app-error.js';

/** The longest a poll can ask to be held, in seconds. */
export const MAX_WAIT_SECONDS = 60;

/** `wait` of GET /v1/tasks/{id}, in milliseconds; 0 = answer at once. Throws AppError `invalid_value`. */
export function waitQuery(query: unknown): number {
  const { wait } = query as Record<string, unknown>;
  if (wait === undefined || wait === '') return 0;
  const seconds = typeof wait === 'string' && /^\d{1,2}$/.test(wait) ? Number(wait) : 0;
  if (seconds >= 1 && seconds <= MAX_WAIT_SECONDS) return seconds * 1_000;
  throw new AppError('invalid_value', `wait must be a whole number of seconds from 1 to ${MAX_WAIT_SECONDS}`, {
    param: 'wait',
  });
}
