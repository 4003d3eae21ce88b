import { errorWords } from '../http/error-body.js';
import { refusal, unusable, type SaidMessage } from '../http/failures.js';
import { isModeration } from '../http/moderation.js';
import { textAt, valueAt } from '../http/json-value.js';
import { BLOCKED, ProviderError } from '../provider-error.js';

/** A vendor's error. The message is only used to classify it. */
export interface VendorError {
  readonly type: string | undefined;
  readonly code: string | undefined;
  readonly message: string;
}

/** The vendor's message, as returned by `Upstream.messageIn` for operators. */
type OperatorMessage = string | undefined;

const NO_CREDIT = /insufficient|balance|payment.?required|billing/i;
const BAD_IMAGE = /^(invalid_image|image_)/;
const BAD_REQUEST = /^(invalid_|unsupported_|bad_request|parameter)/;

/** The error in a response or job: an object in all three dialects, a string in some older responses. */
export function vendorError(value: unknown): VendorError | undefined {
  const error = valueAt(value, 'error') ?? valueAt(value, 'data', 'error');
  if (typeof error === 'string') return { type: undefined, code: undefined, message: error };
  if (typeof error === 'object' && error !== null) {
    return { type: textAt(error, 'type'), code: textAt(error, 'code'), message: textAt(error, 'message') ?? '' };
  }
  const message = textAt(value, 'message') ?? textAt(value, 'msg');
  const code = textAt(value, 'code');
  return message === undefined && code === undefined ? undefined : { type: undefined, code, message: message ?? '' };
}

/** A status other than 200, or one in the body. A rejected submit is not charged. */
export function refused(
  status: number,
  body: unknown,
  retryAfter: number | undefined,
  said: SaidMessage | undefined,
): ProviderError {
  const error = vendorError(body);
  const fields = error === undefined ? undefined : { type: error.type, code: error.code };
  return refusal({ status, fields, body, retryAfter, said });
}

/** A failed job. All three vendors refund what they reserved for it. */
export function failedJob(error: VendorError | undefined, providerMessage: OperatorMessage): ProviderError {
  const said = textOf(error);
  const code = error?.code ?? error?.type ?? '';
  const cause = new Error(`the provider's job failed: ${/^[\w.-]{1,64}$/.test(code) ? code : 'without a code'}`);
  if (isModeration(200, errorWords({ error }))) return blocked(cause, providerMessage);
  const make = (text: string, retryable: boolean): ProviderError =>
    new ProviderError('upstream_error', text, { retryable, charged: 'no', cause, providerMessage });
  if (BAD_IMAGE.test(code)) {
    return new ProviderError('invalid_image_file', 'The provider could not use one of the images.', {
      retryable: false,
      charged: 'no',
      cause,
      providerMessage,
    });
  }
  if (NO_CREDIT.test(said)) return make('The provider is not accepting requests from this service right now.', false);
  if (BAD_REQUEST.test(code)) return make('The provider did not accept the request.', false);
  return make('The provider failed to generate the image.', true);
}

/**
 * The job was canceled at the vendor, by a user of the operator's account. Vendors don't document whether it is
 * charged.
 */
export function cancelledJob(): ProviderError {
  return new ProviderError('upstream_error', 'The image was cancelled at the provider.', {
    retryable: false,
    charged: 'maybe',
    cause: new Error("the provider's job was cancelled"),
  });
}

/** The vendor named this job, and may have charged for it: checking again is useless, and ordering again may cost. */
export function lostJob(status: number): ProviderError {
  return new ProviderError('upstream_error', 'The provider no longer has the job.', {
    retryable: false,
    charged: 'maybe',
    cause: new Error(`the provider answered ${status} to its job's id`),
  });
}

/** The response to a submit names no job, so there may or may not be one. */
export function withoutJob(cause: unknown): ProviderError {
  return new ProviderError('upstream_invalid_response', 'The provider did not return a job ID.', {
    retryable: true,
    charged: 'maybe',
    cause,
  });
}

/** A finished job without an image. An empty image entry means that it was charged; without an entry, it was not. */
export function withoutImage(hasEntry: boolean): ProviderError {
  return unusable("the provider's job is complete and has no image", hasEntry ? 'yes' : 'no');
}

function blocked(cause: Error, providerMessage: OperatorMessage): ProviderError {
  return new ProviderError('moderation_blocked', BLOCKED, {
    retryable: false,
    charged: 'no',
    param: 'prompt',
    cause,
    providerMessage,
  });
}

function textOf(error: VendorError | undefined): string {
  return error === undefined ? '' : `${error.type ?? ''} ${error.code ?? ''} ${error.message}`;
}
