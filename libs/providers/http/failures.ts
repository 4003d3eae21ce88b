import type { ErrorCode } from '#contract/error-codes.js';
import { BLOCKED, ProviderError } from '../provider-error.js';

/** The fields of an error body, except its message, which may quote the key, the host, or the prompt. */
export interface ErrorFields {
  readonly type?: string | undefined;
  readonly code?: string | undefined;
  readonly param?: string | undefined;
}

interface RefusalDetails {
  /** Status of the response. */
  readonly status: number;
  /** The status that matches the body, if it differs. */
  readonly meaning?: number | undefined;
  /** Undefined if the body did not have the API's format, for example a proxy's page. */
  readonly fields: ErrorFields | undefined;
  /** Seconds. */
  readonly retryAfter?: number | undefined;
  /** For operators, from `Upstream.messageIn`. */
  readonly providerMessage?: string | undefined;
}

const MODERATION = /moderation|content_policy|safety|content_filter/;
const BAD_IMAGE = /^(invalid_image|image_parse_error|unsupported_image|invalid_image_file|image_.*)/;
const NO_CREDIT = /insufficient_quota|billing|insufficient_.*(balance|credit|funds)|quota_exceeded/;
/** Request fields whose value the caller chooses. */
const CALLER_FIELDS =
  /^(prompt|size|quality|background|moderation|output_format|output_compression|input_fidelity|user)$/;
/** The provider rejected the key, not the order. */
const KEY_REFUSED: ReadonlySet<number> = new Set([401, 402, 403, 429]);
/** A proxy reports that it could not reach the server. */
const NOT_REACHED: ReadonlySet<number> = new Set([521, 522, 523, 525, 526, 530]);
/** A proxy reports that the server did not respond in time, or not properly. */
const GAVE_UP: ReadonlySet<number> = new Set([502, 504, 520, 524]);

/**
 * What a status other than 200 means; see the table in docs/operations.md ("Providers"). All messages are our own, so
 * that the vendor's text never reaches callers.
 */
export function refusal(facts: RefusalDetails): ProviderError {
  const { fields, retryAfter, providerMessage } = facts;
  const status = facts.meaning ?? facts.status;
  const said = { type: fields?.type ?? '', code: fields?.code ?? '' };
  const cause = new Error(`the provider answered ${status} ${plainWord(said.code)}`.trim());
  const make = (code: ErrorCode, text: string, retryable: boolean, charged: 'no' | 'maybe' = 'no', param?: string) =>
    new ProviderError(code, text, {
      retryable,
      charged,
      cause,
      status: facts.status < 300 ? undefined : facts.status,
      providerMessage,
      keyRefused: KEY_REFUSED.has(status) || NO_CREDIT.test(`${said.type} ${said.code}`),
      ...(retryAfter === undefined ? {} : { retryAfter }),
      ...(param === undefined ? {} : { param }),
    });

  if (status >= 500) {
    // An error body in the API's own format means that the vendor generated nothing; a proxy's page does not.
    const unknown = status === 504 || status === 524 || (GAVE_UP.has(status) && fields === undefined);
    const text = NOT_REACHED.has(status) ? 'The provider could not be reached' : 'The provider failed';
    return make('upstream_error', `${text} (${status}).`, true, unknown ? 'maybe' : 'no');
  }
  if (NO_CREDIT.test(`${said.type} ${said.code}`) || status === 402) {
    return make('upstream_error', 'The provider is not accepting requests from this service right now.', false);
  }
  if (status === 408 || status === 409 || status === 425) {
    return make('upstream_error', `The provider asked to try again (${status}).`, true);
  }
  if (status === 429) return make('upstream_error', 'The provider is limiting requests (429).', true);
  if (status === 401 || status === 403) {
    return make('upstream_error', `The provider denied access (${status}).`, false);
  }
  if (status === 404) return make('upstream_error', 'The provider does not offer this model or call (404).', false);
  if (status >= 400) return badRequest(said, fields?.param, status, make);
  return make('upstream_error', `The provider returned an unexpected response (${status}).`, false);
}

type Make = (
  code: ErrorCode,
  text: string,
  retryable: boolean,
  charged?: 'no' | 'maybe',
  param?: string,
) => ProviderError;

function badRequest(
  said: { type: string; code: string },
  param: string | undefined,
  status: number,
  make: Make,
): ProviderError {
  if (MODERATION.test(said.code) || (said.type === 'image_generation_user_error' && !BAD_IMAGE.test(said.code))) {
    return make('moderation_blocked', BLOCKED, false, 'no', 'prompt');
  }
  if (BAD_IMAGE.test(said.code)) {
    return make('invalid_image_file', 'The provider could not use one of the images.', false);
  }
  if (param !== undefined && CALLER_FIELDS.test(param)) {
    return make('invalid_value', `The provider does not accept this value of ${param}.`, false, 'no', param);
  }
  return make('upstream_error', `The provider did not accept the request (${status}).`, false);
}

/** An error in a response with status 200 or in a stream's event, classified by its content. */
export function errorInside(fields: ErrorFields, providerMessage?: string): ProviderError {
  const text = `${fields.type ?? ''} ${fields.code ?? ''}`;
  const isRefusal = MODERATION.test(text) || /user_error|invalid_request/.test(text);
  const meaning = isRefusal ? 400 : /rate_limit/.test(text) ? 429 : 500;
  return refusal({ status: 200, meaning, fields, providerMessage });
}

/**
 * A response without a usable image, which is the provider's failure. `charged`: `no` if there is nothing to charge
 * for, `yes` if it delivered anything at all, and `maybe` if the response can't be read.
 */
export function unusable(what: string, charged: 'no' | 'maybe' | 'yes' = 'no'): ProviderError {
  return new ProviderError('upstream_invalid_response', 'The provider did not return a usable image.', {
    retryable: true,
    charged,
    cause: new Error(what),
  });
}

/** A network failure. Nothing is charged unless the whole request was sent. */
export function connectionFailure(reason: 'late' | 'cut', wasSent: boolean, code: string): ProviderError {
  const text = !wasSent
    ? 'The provider could not be reached.'
    : reason === 'late'
      ? 'The provider did not respond in time.'
      : 'The connection to the provider broke before the image arrived.';
  return new ProviderError('upstream_error', text, {
    retryable: true,
    charged: wasSent ? 'maybe' : 'no',
    cause: new Error(`${wasSent ? 'after' : 'before'} the request was sent: ${plainWord(code)}`),
  });
}

/** Only single words are logged as codes. */
function plainWord(text: string): string {
  return /^[A-Za-z0-9_.-]{1,64}$/.test(text) ? text : '';
}
