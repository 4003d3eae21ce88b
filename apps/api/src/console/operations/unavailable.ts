import { AppError } from '#contract/app-error.js';

/** Throws the error for a failing Redis. */
export function unavailable(cause: unknown): never {
  throw new AppError('server_is_overloaded', 'Redis is not responding right now.', { retryAfter: 2, cause });
}
