import { AppError } from '#contract/app-error.js';

/** What is said where Redis has failed. */
export function unavailable(cause: unknown): never {
  throw new AppError('server_is_overloaded', 'Redis is not responding right now.', { retryAfter: 2, cause });
}
