import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorDetail, type AppError, type ErrorBody } from '#contract/app-error.js';
import { errorKind } from '#contract/error-codes.js';
import { discardBody } from './request-stream.js';

/** Default Retry-After of retryable errors, in seconds. */
const DEFAULT_RETRY_AFTER = 5;
const MAX_RETRY_AFTER = 60;
/** How long the rest of a rejected body is read before its connection is closed. */
const LINGER_MS = 5_000;

/** The contract's error body. */
export function errorBody(error: AppError, requestId: string, path = ''): ErrorBody {
  return {
    type: 'error',
    error: { ...errorDetail(error), ...(error.taskId === undefined ? {} : { task_id: error.taskId }) },
    request_id: requestId,
    ...(/^\/v1\/tasks(?:[/?]|$)/.test(path) ? { code: error.status } : {}),
  };
}

/** Headers that depend on the error alone. */
export function errorHeaders(error: AppError): Record<string, string> {
  const { status, retry } = errorKind(error.code);
  const headers: Record<string, string> = {};
  if (retry !== undefined) headers['x-should-retry'] = String(retry);
  if (error.code === 'invalid_api_key') headers['www-authenticate'] = 'Bearer';
  if (status === 429 || status === 503 || error.code === 'idempotency_in_progress') {
    headers['retry-after'] = String(Math.min(Math.max(1, error.retryAfter ?? DEFAULT_RETRY_AFTER), MAX_RETRY_AFTER));
  }
  // How long a pause lasts is no advice to wait in the call, so it has no limit.
  if (error.code === 'end_user_paused' && error.retryAfter !== undefined) {
    headers['retry-after'] = String(error.retryAfter);
  }
  if (error.taskId !== undefined) headers['x-task-id'] = error.taskId;
  return headers;
}

/** Sends an error response. Does nothing when a response has already been sent. */
export function sendError(error: AppError, request: FastifyRequest, reply: FastifyReply): void {
  if (reply.sent || reply.raw.headersSent) return;
  request.refusal = error;
  if (error.taskId !== undefined) request.taskId = error.taskId;
  discardBody(request);
  // Fastify closes the connection after a rejected body, so a caller that is still sending would see a reset instead of
  // the response.
  const text = JSON.stringify(errorBody(error, request.id, request.url));
  void reply
    .removeHeader('connection')
    .code(error.status)
    .headers(errorHeaders(error))
    .header('cache-control', 'no-store')
    .header('content-length', Buffer.byteLength(text))
    .type('application/json; charset=utf-8')
    .send(isClosedAfterwards(request) ? Readable.from(untilRead(text, request.raw)) : text);
}

/** Whether the end of the response closes a connection on which a body is still arriving. */
function isClosedAfterwards({ raw }: FastifyRequest): boolean {
  if (raw.complete || raw.method === 'HEAD') return false;
  return raw.httpVersion === '1.0' || /\bclose\b/i.test(raw.headers.connection ?? '');
}

/**
 * Sends the whole response at once, but ends it only with the unwanted body: if it closed earlier, the caller would see
 * a reset.
 */
async function* untilRead(text: string, payload: IncomingMessage): AsyncGenerator<string> {
  yield text;
  const patience = AbortSignal.timeout(LINGER_MS);
  await finished(payload, { writable: false, signal: patience }).catch(() => undefined);
}
