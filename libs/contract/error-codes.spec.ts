import { ERROR_KINDS, type ErrorCode } from './error-codes.js';

/** The rows of the contract's table of errors: status, class, what the SDKs are told; then the codes. */
const TABLE: readonly [status: number, type: string, retry: boolean | undefined, codes: readonly ErrorCode[]][] = [
  [
    400,
    'invalid_request_error',
    undefined,
    [
      'missing_required_parameter',
      'invalid_type',
      'invalid_value',
      'invalid_json',
      'string_above_max_length',
      'array_above_max_length',
      'model_not_found',
      'invalid_image_url',
      'failed_to_download_image',
      'invalid_base64_image',
      'unsupported_image_media_type',
      'image_too_large',
      'image_too_small',
      'image_file_too_large',
      'integer_above_max_value',
      'integer_below_min_value',
      'unsupported_parameter',
      'invalid_mask',
    ],
  ],
  [400, 'image_generation_user_error', undefined, ['moderation_blocked', 'invalid_image_file']],
  [401, 'authentication_error', undefined, ['invalid_api_key']],
  [402, 'billing_error', undefined, ['insufficient_quota']],
  [403, 'permission_error', undefined, ['account_disabled', 'model_not_allowed', 'endpoint_not_allowed']],
  [404, 'not_found_error', undefined, ['task_not_found', 'unknown_url']],
  [404, 'invalid_request_error', undefined, ['unknown_model']],
  [405, 'invalid_request_error', undefined, ['method_not_allowed']],
  [415, 'invalid_request_error', undefined, ['unsupported_media_type']],
  [409, 'conflict_error', undefined, ['idempotency_in_progress']],
  [410, 'not_found_error', undefined, ['task_deleted']],
  [413, 'invalid_request_error', undefined, ['request_too_large', 'upload_quota_exceeded']],
  [409, 'conflict_error', false, ['account_limit_reached']],
  [416, 'invalid_request_error', undefined, ['range_not_satisfiable']],
  [422, 'invalid_request_error', undefined, ['idempotency_key_reused']],
  [429, 'rate_limit_error', undefined, ['rate_limit_exceeded', 'concurrency_limit_exceeded']],
  [500, 'api_error', false, ['internal_error']],
  [502, 'upstream_error', false, ['upstream_error', 'upstream_invalid_response']],
  [503, 'overloaded_error', true, ['server_is_overloaded', 'queue_full']],
  [504, 'timeout_error', undefined, ['still_running']],
];

describe('the codes of errors', () => {
  it.each(TABLE)('%i %s, retry %p: %p', (status, type, retry, codes) => {
    for (const code of codes) {
      const kind: { status: number; type: string; retry?: boolean } = ERROR_KINDS[code];
      expect([code, kind.status, kind.type, kind.retry]).toEqual([code, status, type, retry]);
    }
  });

  it('never let an SDK repeat a 5xx of its own accord, but for the one that says itself whether to', () => {
    const silent = Object.entries(ERROR_KINDS).filter(([, kind]) => kind.status >= 500 && !('retry' in kind));
    expect(silent.map(([code]) => code)).toEqual(['still_running']);
  });
});
