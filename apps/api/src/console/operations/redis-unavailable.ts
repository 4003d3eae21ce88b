import { unavailable } from '#contract/unavailable.js';

/** Throws the error for a failing Redis. */
export function redisUnavailable(cause?: unknown): never {
  throw unavailable('Redis is not responding right now.', { retryAfter: 2, cause });
}
