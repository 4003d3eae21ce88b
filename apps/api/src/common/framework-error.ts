import { AppError } from '#contract/app-error.js';
import type { ErrorCode } from '#contract/error-codes.js';

/** Error codes of Fastify and Node, and the errors that callers see. */
const KNOWN: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'unsupported_media_type',
    'The Content-Type of the request is not supported. Send application/json, or multipart/form-data for edits and uploads.',
  ],
  FST_ERR_CTP_EMPTY_TYPE: [
    'unsupported_media_type',
    'The Content-Type of the request is not supported. Send application/json, or multipart/form-data for edits and uploads.',
  ],
  FST_ERR_CTP_BODY_TOO_LARGE: ['request_too_large', 'The request body is too large.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalid_json', 'The request body does not match its Content-Length.'],
  FST_ERR_BAD_URL: ['invalid_value', 'The request URL is malformed.'],
  FST_ERR_MAX_PARAM_LENGTH: ['uri_too_long', 'The request URL is too long.'],
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: [
    'unsupported_media_type',
    'The request has no Content-Type. Send application/json, or multipart/form-data for edits and uploads.',
  ],
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The headers of the request are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
  ECONNRESET: ['invalid_value', 'The request is incomplete: the connection was closed.'],
};

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  408: 'request_timeout',
  413: 'request_too_large',
  414: 'uri_too_long',
  415: 'unsupported_media_type',
  431: 'headers_too_large',
};

/** Maps framework errors to the contract's errors. An unknown error is a bug, and its details stay hidden. */
export function appErrorOf(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const { code, statusCode } = (thrown ?? {}) as { code?: unknown; statusCode?: unknown };
  const known = typeof code === 'string' ? KNOWN[code] : undefined;
  if (known) return new AppError(known[0], known[1], { cause: thrown });
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new AppError(BY_STATUS[statusCode] ?? 'invalid_value', 'The request is not valid.', { cause: thrown });
  }
  return new AppError('internal_error', 'Internal server error.', { cause: thrown });
}
