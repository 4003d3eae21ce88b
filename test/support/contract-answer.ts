/** The allowed errors of the API, written once more by hand, so that tests don't rely on the product's own table. */
const CLASSES: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  400: {
    invalid_request_error:
      'missing_required_parameter invalid_type invalid_value invalid_json invalid_multipart string_above_max_length ' +
      'array_above_max_length array_below_min_length integer_above_max_value integer_below_min_value model_not_found ' +
      'unsupported_parameter invalid_image_url failed_to_download_image invalid_base64_image image_too_large ' +
      'unsupported_image_media_type image_too_small image_file_too_large invalid_mask',
    image_generation_user_error: 'moderation_blocked invalid_image_file',
  },
  401: { authentication_error: 'invalid_api_key' },
  403: { permission_error: 'account_disabled model_not_allowed endpoint_not_allowed invalid_link' },
  404: { not_found_error: 'task_not_found unknown_url file_not_found', invalid_request_error: 'model_not_found' },
  405: { invalid_request_error: 'method_not_allowed' },
  408: { invalid_request_error: 'request_timeout' },
  409: { conflict_error: 'idempotency_in_progress' },
  410: { not_found_error: 'task_deleted' },
  413: { invalid_request_error: 'request_too_large' },
  414: { invalid_request_error: 'uri_too_long' },
  415: { invalid_request_error: 'unsupported_media_type' },
  416: { invalid_request_error: 'range_not_satisfiable' },
  422: { invalid_request_error: 'idempotency_key_reused' },
  431: { invalid_request_error: 'headers_too_large' },
  503: { overloaded_error: 'server_is_overloaded queue_full' },
};

/** A response as received; header names in lower case. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface ContractError {
  readonly type: string;
  readonly code: string;
  readonly param: string | null;
  readonly message: string;
}

export async function answerOf(response: Response): Promise<Answer> {
  return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
}

/**
 * Checks that a response follows the contract; returns its error, or undefined for a success. `path` is the requested
 * path, '' for an invalid request. Throws with the response when it does not.
 */
export function contractError(answer: Answer, path: string): ContractError | undefined {
  const { status, headers, text } = answer;
  const wrong = (what: string): Error =>
    new Error(`${what}: ${status} ${JSON.stringify(headers)} ${text.slice(0, 500)}`);
  if (!/^req_[0-9A-HJKMNP-TV-Z]{26}$/.test(headers['x-request-id'] ?? '')) throw wrong('no request id');
  if (status < 400) return undefined;
  if (status === 503 && !/^[1-9]\d?$/.test(headers['retry-after'] ?? '')) throw wrong('a 503 without Retry-After');
  if (!(headers['content-type'] ?? '').startsWith('application/json')) throw wrong('an error that is no JSON');
  // A response to HEAD has no body.
  if (text === '') return undefined;
  const { error, ...rest } = JSON.parse(text) as { error: ContractError & { task_id?: string } };
  const withCode = path === '' ? 'code' in rest : /^\/v1\/tasks(?:[/?]|$)/.test(path);
  const onTasks = withCode ? { code: status } : {};
  const outside = { type: 'error', request_id: headers['x-request-id'], ...onTasks };
  if (JSON.stringify(sorted(rest)) !== JSON.stringify(sorted(outside))) throw wrong('another error body');
  const { task_id: taskId, ...detail } = error;
  if (Object.keys(detail).sort().join() !== 'code,message,param,type') throw wrong('another error object');
  if (taskId !== undefined && taskId !== headers['x-task-id']) throw wrong('another task id');
  if (!(CLASSES[status]?.[error.type] ?? '').split(' ').includes(error.code))
    throw wrong('an error unknown to the contract');
  if (error.param !== null && typeof error.param !== 'string') throw wrong('a param that is no name');
  if (error.message === '' || /node_modules|\bat .*\.js:\d|prisma|ECONN/i.test(error.message)) {
    throw wrong('a message that says nothing, or too much');
  }
  return error;
}

function sorted(object: object): [string, unknown][] {
  return Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1));
}
