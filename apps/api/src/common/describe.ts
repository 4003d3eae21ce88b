import { applyDecorators } from '@nestjs/common';
import { ApiBearerAuth, ApiExtension, ApiHeader, ApiResponse, type ApiResponseOptions } from '@nestjs/swagger';
import { ErrorResponse } from '#contract/error-response.js';

type Headers = NonNullable<ApiResponseOptions['headers']>;

const text = { schema: { type: 'string' as const } };
const number = { schema: { type: 'integer' as const } };

/** Headers of every response. */
export const REQUEST_ID_HEADER: Headers = {
  'x-request-id': { description: 'Request ID, as in the service logs.', ...text },
};

/** The header of the first answer that delivers a completed task. */
export const COST_HEADER: Headers = {
  'x-litellm-response-cost': {
    description:
      'What the completed task cost, in US dollars, for whoever adds costs up: once per task, in the first response that delivers it. ' +
      'Absent if the cost is unknown, or in another currency.',
    schema: { type: 'string', example: '0.040000' },
  },
};

/** Headers of every response to an image request that created a task. */
export const TASK_HEADERS: Headers = {
  ...REQUEST_ID_HEADER,
  ...COST_HEADER,
  'x-task-id': { description: 'ID of the task; poll it at /v1/tasks/{task_id}.', ...text },
  'openai-processing-ms': { description: 'Milliseconds from the request to the response.', ...number },
  'x-ignored-params': { description: 'Names of ignored request fields.', ...text },
  'idempotency-replayed': {
    description: '`true` if this is the stored outcome of an earlier request with the same Idempotency-Key.',
    ...text,
  },
};

const SHOULD_RETRY: Headers = {
  'x-should-retry': { description: 'Whether to retry; OpenAI SDKs follow it.', ...text },
};
/** The remaining requests of a key's minute; also on successful responses of counted routes. */
const RATE_LIMIT: Headers = {
  'x-ratelimit-limit-requests': { description: 'Limit of requests of this kind per minute.', ...number },
  'x-ratelimit-remaining-requests': { description: 'Requests left in the current minute.', ...number },
  'x-ratelimit-reset-requests': { description: 'Time until the limit resets, such as `12s` or `1m0s`.', ...text },
};
const RETRY_AFTER: Headers = { 'retry-after': { description: 'Seconds to wait before retrying.', ...number } };

const ERRORS: Readonly<Record<number, { readonly description: string; readonly headers?: Headers }>> = {
  400: { description: 'The request is invalid, or its content was rejected.' },
  401: { description: 'The API key is missing or invalid.', headers: { 'www-authenticate': text } },
  402: { description: 'The remaining budget of the API key or the account does not cover the request.' },
  403: { description: 'The account is disabled, or the API key lacks permission.' },
  404: { description: 'Not found.' },
  405: { description: 'Method not allowed for this URL.', headers: { allow: text } },
  409: {
    description:
      'The task waits for an approval (`approval_required`, with `error.task_id`) or was cancelled, or another request with this Idempotency-Key is still being accepted.',
    headers: { ...SHOULD_RETRY, ...RETRY_AFTER },
  },
  410: { description: 'The task was deleted.' },
  413: { description: 'The request or one of its files is too large.' },
  415: { description: 'The Content-Type is not supported.' },
  416: { description: 'The image has no byte in the requested range.', headers: { 'content-range': text } },
  422: { description: 'The Idempotency-Key was already used for a different request.' },
  429: { description: 'Too many requests or tasks in flight.', headers: { ...RETRY_AFTER, ...RATE_LIMIT } },
  500: { description: 'Internal server error.', headers: SHOULD_RETRY },
  502: { description: 'The provider failed.', headers: SHOULD_RETRY },
  503: { description: 'The service cannot accept requests right now.', headers: { ...RETRY_AFTER, ...SHOULD_RETRY } },
  504: {
    description: 'The image is not ready yet (`still_running`, with `error.task_id`), or its task missed its deadline.',
    headers: { ...SHOULD_RETRY, 'retry-after-ms': number, 'x-task-id': text },
  },
};

/** The error responses of a route, by status; all have the same error body. */
export function DescribeErrors(...statuses: readonly number[]): MethodDecorator {
  return applyDecorators(
    ...statuses.map((status) => {
      const { description = '', headers = {} } = ERRORS[status] ?? {};
      return ApiResponse({ status, type: ErrorResponse, description, headers: { ...REQUEST_ID_HEADER, ...headers } });
    }),
  );
}

/** Holds the bodies of an operation until the document is finished. */
export const BODIES = 'x-bodies';

/** A body with a schema per media type, which the generator can't express. */
export function DescribeBodies(content: Readonly<Record<string, object>>): MethodDecorator {
  return ApiExtension(BODIES, content);
}

/** A file in a form, as OpenAPI 3.1 describes it: a string would be wrong for generated clients. */
export const FILE = { contentMediaType: 'application/octet-stream' };

/** Marks an operation as public explicitly, because a missing entry could be a mistake. */
export const PUBLIC: { readonly security: [] } = { security: [] };

/** Describes a route that needs a key. */
export function DescribeProtected(): MethodDecorator {
  return applyDecorators(
    ApiBearerAuth(),
    ApiHeader({
      name: 'X-Client-Request-Id',
      required: false,
      description: 'Your own ID for the request, written to the service logs.',
    }),
    DescribeErrors(401, 403, 405, 500, 503),
  );
}
