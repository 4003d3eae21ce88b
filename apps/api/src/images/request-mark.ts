import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '#contract/app-error.js';
import type { RequestMark } from '#tasks/intake/request-identity.js';

/** Visible ASCII. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * What identifies repetitions of a request: an Idempotency-Key, or else the SDK's retry count. Throws AppError
 * `invalid_value` for an invalid key.
 */
export function requestMark(headers: IncomingHttpHeaders): RequestMark {
  const sent = headers['idempotency-key'];
  if (sent !== undefined) return { kind: 'keyed', key: keyOf(String(sent)) };
  const retry = retryCount(headers);
  return { kind: 'unkeyed', retry: retry ?? 0, counted: retry !== undefined };
}

/** How often an OpenAI SDK has already tried this call; undefined when it sends no count. */
export function retryCount(headers: IncomingHttpHeaders): number | undefined {
  const count = headers['x-stainless-retry-count'];
  return typeof count === 'string' && /^\d{1,6}$/.test(count) ? Number(count) : undefined;
}

/** A key means the same with and without quotes. `param`: where it was sent. */
export function keyOf(sent: string, param = 'Idempotency-Key'): string {
  const key = /^"(.*)"$/s.exec(sent)?.[1] ?? sent;
  if (KEY.test(key)) return key;
  throw new AppError('invalid_value', `${param} must be 1 to 255 visible ASCII characters.`, { param });
}
