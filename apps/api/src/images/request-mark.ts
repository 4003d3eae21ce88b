import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '#contract/app-error.js';
import type { RequestMark } from '#tasks/task-intake.js';

/** Visible ASCII. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * By what a request may repeat another; an Idempotency-Key wins over the count of an SDK.
 * Throws AppError `invalid_value` when the key is none.
 */
export function requestMark(headers: IncomingHttpHeaders): RequestMark {
  const sent = headers['idempotency-key'];
  if (sent !== undefined) return { kind: 'key', key: keyOf(String(sent)) };
  const retry = retryCount(headers);
  return { kind: 'attempt', retry: retry ?? 0, counted: retry !== undefined };
}

/** How many tries of the same call an SDK of OpenAI has made before; undefined when it does not count them. */
export function retryCount(headers: IncomingHttpHeaders): number | undefined {
  const count = headers['x-stainless-retry-count'];
  return typeof count === 'string' && /^\d{1,6}$/.test(count) ? Number(count) : undefined;
}

/** Bare and quoted spell the same key. */
function keyOf(sent: string): string {
  const key = /^"(.*)"$/s.exec(sent)?.[1] ?? sent;
  if (KEY.test(key)) return key;
  throw new AppError('invalid_value', 'Idempotency-Key must be 1 to 255 visible ASCII characters.', {
    param: 'Idempotency-Key',
  });
}
