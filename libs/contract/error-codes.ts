/**
 * Status and class of every error code. `retry` becomes the `x-should-retry` header, which the OpenAI SDKs follow; if
 * absent, the SDK decides.
 */
interface ErrorKind {
  readonly status: number;
  readonly type: ErrorType;
  readonly retry?: boolean;
}

export type ErrorType =
  | 'invalid_request_error'
  | 'image_generation_user_error'
  | 'authentication_error'
  | 'billing_error'
  | 'permission_error'
  | 'not_found_error'
  | 'conflict_error'
  | 'rate_limit_error'
  | 'api_error'
  | 'upstream_error'
  | 'overloaded_error'
  | 'timeout_error';

const badRequest = { status: 400, type: 'invalid_request_error' } as const;
const refusedImage = { status: 400, type: 'image_generation_user_error' } as const;

export const ERROR_KINDS = {
  missing_required_parameter: badRequest,
  invalid_type: badRequest,
  invalid_value: badRequest,
  invalid_json: badRequest,
  invalid_multipart: badRequest,
  string_above_max_length: badRequest,
  array_above_max_length: badRequest,
  array_below_min_length: badRequest,
  integer_above_max_value: badRequest,
  integer_below_min_value: badRequest,
  unsupported_parameter: badRequest,
  previous_response_not_found: badRequest,
  model_not_found: badRequest,
  invalid_image_url: badRequest,
  failed_to_download_image: badRequest,
  invalid_base64_image: badRequest,
  unsupported_image_media_type: badRequest,
  image_too_large: badRequest,
  image_too_small: badRequest,
  image_file_too_large: badRequest,
  image_file_not_found: badRequest,
  invalid_mask: badRequest,
  moderation_blocked: refusedImage,
  invalid_image_file: refusedImage,
  invalid_api_key: { status: 401, type: 'authentication_error' },
  invalid_signature: { status: 401, type: 'authentication_error' },
  not_signed_in: { status: 401, type: 'authentication_error' },
  sign_in_failed: { status: 401, type: 'authentication_error' },
  insufficient_quota: { status: 402, type: 'billing_error' },
  account_disabled: { status: 403, type: 'permission_error' },
  model_not_allowed: { status: 403, type: 'permission_error' },
  endpoint_not_allowed: { status: 403, type: 'permission_error' },
  end_user_blocked: { status: 403, type: 'permission_error' },
  // 403, because SDKs retry 429, in vain.
  end_user_paused: { status: 403, type: 'permission_error', retry: false },
  two_factor_required: { status: 403, type: 'permission_error' },
  proof_required: { status: 403, type: 'permission_error' },
  approval_rejected: { status: 403, type: 'permission_error' },
  approval_expired: { status: 403, type: 'permission_error' },
  not_permitted: { status: 403, type: 'permission_error' },
  forbidden_origin: { status: 403, type: 'permission_error' },
  invalid_link: { status: 403, type: 'permission_error' },
  task_not_found: { status: 404, type: 'not_found_error' },
  file_not_found: { status: 404, type: 'not_found_error' },
  response_not_found: { status: 404, type: 'invalid_request_error' },
  not_found: { status: 404, type: 'not_found_error' },
  unknown_url: { status: 404, type: 'not_found_error' },
  unknown_model: { status: 404, type: 'invalid_request_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  request_timeout: { status: 408, type: 'invalid_request_error' },
  idempotency_in_progress: { status: 409, type: 'conflict_error' },
  task_cancelled: { status: 409, type: 'conflict_error', retry: false },
  approval_required: { status: 409, type: 'conflict_error', retry: false },
  already_decided: { status: 409, type: 'conflict_error', retry: false },
  already_exists: { status: 409, type: 'conflict_error' },
  last_admin: { status: 409, type: 'conflict_error' },
  last_owner: { status: 409, type: 'conflict_error' },
  account_limit_reached: { status: 409, type: 'conflict_error', retry: false },
  link_used: { status: 410, type: 'invalid_request_error' },
  task_deleted: { status: 410, type: 'not_found_error' },
  request_too_large: { status: 413, type: 'invalid_request_error' },
  upload_quota_exceeded: { status: 413, type: 'invalid_request_error' },
  uri_too_long: { status: 414, type: 'invalid_request_error' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
  range_not_satisfiable: { status: 416, type: 'invalid_request_error' },
  idempotency_key_reused: { status: 422, type: 'invalid_request_error' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  concurrency_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  headers_too_large: { status: 431, type: 'invalid_request_error' },
  internal_error: { status: 500, type: 'api_error', retry: false },
  interrupted: { status: 500, type: 'api_error', retry: false },
  storage_error: { status: 500, type: 'api_error', retry: false },
  upstream_error: { status: 502, type: 'upstream_error', retry: false },
  chat_upstream_error: { status: 502, type: 'upstream_error', retry: true },
  upstream_invalid_response: { status: 502, type: 'upstream_error', retry: false },
  server_is_overloaded: { status: 503, type: 'overloaded_error', retry: true },
  queue_full: { status: 503, type: 'overloaded_error', retry: true },
  generation_timeout: { status: 504, type: 'timeout_error', retry: false },
  still_running: { status: 504, type: 'timeout_error' },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERROR_KINDS;

/** Whether a text, such as the code of a failed task, is an error code. */
export function isErrorCode(text: string | null): text is ErrorCode {
  return text !== null && Object.hasOwn(ERROR_KINDS, text);
}

/** Status, class, and retry advice of a code. */
export function errorKind(code: ErrorCode): ErrorKind {
  return ERROR_KINDS[code];
}

/**
 * Codes whose public name also belongs to a code with a different status or retry advice; null for one that has none,
 * as at OpenAI.
 */
const PUBLIC_CODES: Partial<Record<ErrorCode, string | null>> = {
  unknown_model: 'model_not_found',
  chat_upstream_error: 'upstream_error',
  response_not_found: null,
};

/** The code that callers see. */
export function publicCode(code: ErrorCode): string | null {
  const known = PUBLIC_CODES[code];
  return known === undefined ? code : known;
}
