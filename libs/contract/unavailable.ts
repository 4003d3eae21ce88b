import { AppError } from './app-error.js';

/** The error for what can't be done now, through no fault of the request; `retryAfter` in seconds. */
export function unavailable(
  message: string,
  details: { readonly retryAfter?: number; readonly cause?: unknown } = {},
): AppError {
  return new AppError('server_is_overloaded', message, details);
}

/** Redis, Postgres or this process can't take a request now. */
export function overloaded(cause?: unknown): AppError {
  return unavailable('The service cannot accept requests right now. Please try again shortly.', {
    retryAfter: 2,
    cause,
  });
}
