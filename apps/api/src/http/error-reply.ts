import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorDetail, type AppError, type ErrorBody } from '#contract/app-error.js';
import { errorKind } from '#contract/error-codes.js';
import { discardBody } from './request-stream.js';

/** Seconds named when an error that may be tried again does not know better. */
const DEFAULT_RETRY_AFTER = 5;
const MAX_RETRY_AFTER = 60;

/** The contract's one error body. */
export function errorBody(error: AppError, requestId: string, path = ''): ErrorBody {
  return {
    type: 'error',
    error: { ...errorDetail(error), ...(error.taskId === undefined ? {} : { task_id: error.taskId }) },
    request_id: requestId,
    ...(/^\/v1\/tasks(?:[/?]|$)/.test(path) ? { code: error.status } : {}),
  };
}

/** Headers that belong to an error whatever the request was. */
export function errorHeaders(error: AppError): Record<string, string> {
  const { status, retry } = errorKind(error.code);
  const headers: Record<string, string> = {};
  if (retry !== undefined) headers['x-should-retry'] = String(retry);
  if (error.code === 'invalid_api_key') headers['www-authenticate'] = 'Bearer';
  if (status === 429 || status === 503 || error.code === 'idempotency_in_progress') {
    headers['retry-after'] = String(Math.min(Math.max(1, error.retryAfter ?? DEFAULT_RETRY_AFTER), MAX_RETRY_AFTER));
  }
  if (error.taskId !== undefined) headers['x-task-id'] = error.taskId;
  return headers;
}

/** Answers a request with an error. Does nothing when an answer is already on its way. */
export function sendError(error: AppError, request: FastifyRequest, reply: FastifyReply): void {
  if (reply.sent || reply.raw.headersSent) return;
  if (error.taskId !== undefined) request.taskId = error.taskId;
  discardBody(request);
  // Fastify closes the connection after a refused body; a caller that still sends would see a reset, not the answer.
  void reply
    .removeHeader('connection')
    .code(error.status)
    .headers(errorHeaders(error))
    .header('cache-control', 'no-store')
    .type('application/json')
    .send(JSON.stringify(errorBody(error, request.id, request.url)));
}
