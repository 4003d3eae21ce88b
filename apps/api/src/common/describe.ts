import { applyDecorators } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiResponse, type ApiResponseOptions } from '@nestjs/swagger';
import { ErrorResponse } from '#contract/error-response.js';

type Headers = NonNullable<ApiResponseOptions['headers']>;

const text = { schema: { type: 'string' as const } };
const number = { schema: { type: 'integer' as const } };

/** Headers of every response. */
export const REQUEST_ID_HEADER: Headers = { 'x-request-id': { description: 'Names the request in logs.', ...text } };

/** Headers of every response to an image request that created a task. */
export const TASK_HEADERS: Headers = {
  ...REQUEST_ID_HEADER,
  'x-task-id': { description: 'The task behind the call; poll it at /v1/tasks/{task_id}.', ...text },
  'openai-processing-ms': { description: 'Milliseconds from the request to the answer.', ...number },
  'x-ignored-params': { description: 'Names of fields that were ignored.', ...text },
  'idempotency-replayed': { description: '`true` when the Idempotency-Key had its outcome already.', ...text },
};

const SHOULD_RETRY: Headers = { 'x-should-retry': { description: 'Obeyed by the OpenAI SDKs.', ...text } };
/** The remaining requests of a key's minute; also on successful responses of counted routes. */
const RATE_LIMIT: Headers = {
  'x-ratelimit-limit-requests': { description: 'Requests of this kind per minute.', ...number },
  'x-ratelimit-remaining-requests': { description: 'How many of them are left.', ...number },
  'x-ratelimit-reset-requests': { description: 'Until the count begins anew, such as `12s` or `1m0s`.', ...text },
};
const RETRY_AFTER: Headers = { 'retry-after': { description: 'Seconds until another try.', ...number } };

const ERRORS: Readonly<Record<number, { readonly description: string; readonly headers?: Headers }>> = {
  400: { description: 'The request is not valid, or its content was refused.' },
  401: { description: 'The API key is missing or not valid.', headers: { 'www-authenticate': text } },
  402: { description: 'A budget of the key or the account is spent.' },
  403: { description: 'The account is disabled, or may not do this.' },
  404: { description: 'There is nothing at this address.' },
  405: { description: 'The address does not take this method.', headers: { allow: text } },
  409: {
    description: 'The task was cancelled, or another request with this Idempotency-Key is still being accepted.',
    headers: { ...SHOULD_RETRY, ...RETRY_AFTER },
  },
  413: { description: 'The request or one of its files is too large.' },
  415: { description: 'The Content-Type is not supported.' },
  422: { description: 'The Idempotency-Key was used for another request.' },
  429: { description: 'Too many requests, or too many tasks in flight.', headers: { ...RETRY_AFTER, ...RATE_LIMIT } },
  500: { description: 'Something went wrong on our side.', headers: SHOULD_RETRY },
  502: { description: 'The provider failed.', headers: SHOULD_RETRY },
  503: { description: 'The service takes no requests right now.', headers: { ...RETRY_AFTER, ...SHOULD_RETRY } },
  504: {
    description: 'The image is not ready yet (`still_running`, with `error.task_id`), or its task ran out of time.',
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

/** A file in a form, as OpenAPI 3.1 describes it: a string would be wrong for generated clients. */
export const FILE = { contentMediaType: 'application/octet-stream' };

/** Marks an operation as public explicitly, because a missing entry could be a mistake. */
export const PUBLIC: { readonly security: [] } = { security: [] };

/** Describes a route that needs a key. */
export function DescribeProtected(): MethodDecorator {
  return applyDecorators(
    ApiBearerAuth(),
    ApiHeader({ name: 'X-Client-Request-Id', required: false, description: "The caller's own id, kept in our logs." }),
    DescribeErrors(401, 403, 405, 500, 503),
  );
}
