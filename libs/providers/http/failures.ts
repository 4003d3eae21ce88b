import type { ErrorCode } from '#contract/error-codes.js';
import { readModerationDetails, type ModerationDetails } from '#contract/moderation-details.js';
import { BLOCKED, ProviderError } from '../provider-error.js';
import { errorWords, fieldsOf, refusedField, unwrapped, type ErrorFields, type ErrorWords } from './error-body.js';
import { valueAt } from './json-value.js';
import { isModeration } from './moderation.js';

interface RefusalDetails {
  /** Status of the response. */
  readonly status: number;
  /** The status that matches the body, if it differs. */
  readonly meaning?: number | undefined;
  /** Undefined if the body did not have the API's format, for example a proxy's page. */
  readonly fields: ErrorFields | undefined;
  /** The whole body, parsed if it is JSON, in which the reason is searched. */
  readonly body?: unknown;
  /** Seconds. */
  readonly retryAfter?: number | undefined;
  /** From `Upstream.said`. */
  readonly said?: SaidMessage | undefined;
  /** What the caller calls a field that the error names; undefined if its value is not the caller's. */
  readonly callerField?: ((field: string) => string | undefined) | undefined;
  /** Whether a moderated request may have been charged, because the image was generated before it was blocked. */
  readonly blockedCharge?: 'no' | 'maybe';
}

/** A server's message about a failure, without secrets. */
export interface SaidMessage {
  /** For operators. */
  readonly providerMessage?: string | undefined;
  /** For the caller whose request was rejected: without addresses. */
  readonly reason?: string | undefined;
}

const BAD_IMAGE = /^(invalid_image|image_parse_error|unsupported_image|invalid_image_file|image_.*)/;
const NO_CREDIT =
  /insufficient_?\w*(quota|balance|credit|fund)|billing|quota_exceeded|exceeded_quota|arrear|overdue|out_of_credit|payment_required/i;
const NO_CREDIT_TEXT =
  /insufficient (?:account )?(?:balance|credit|quota|fund)|(?:exhausted|negative) balance|out of credits|exceeded your current quota|billing hard limit|overdue|arrear|余额不足|额度不足|欠费/i;
/** Request fields whose value the caller chooses. */
const CALLER_FIELDS =
  /^(prompt|size|quality|background|moderation|output_format|output_compression|input_fidelity|user)$/;

/** The field if its value is the caller's choice with every provider. */
export function chosenField(field: string): string | undefined {
  return CALLER_FIELDS.test(field) ? field : undefined;
}
/** The provider rejected the key, not the order. */
const KEY_REFUSED: ReadonlySet<number> = new Set([401, 402, 403, 429]);
/** A proxy reports that it could not reach the server. */
const NOT_REACHED: ReadonlySet<number> = new Set([521, 522, 523, 525, 526, 530]);
/** A proxy reports that the server did not respond in time, or not properly. */
const GAVE_UP: ReadonlySet<number> = new Set([502, 504, 520, 524]);
/** The server, or a proxy before it, did not respond in time. */
const LATE: ReadonlySet<number> = new Set([408, 504, 522, 524]);

/**
 * What a status other than 200 means; see the table in docs/operations.md ("Providers"). The vendor's own text reaches
 * callers only as the reason why their request was rejected, without secrets and addresses.
 */
export function refusal(facts: RefusalDetails): ProviderError {
  const { fields, retryAfter, said } = facts;
  const status = facts.meaning ?? facts.status;
  const words = errorWords(facts.body ?? { error: fields });
  const named = { type: fields?.type ?? '', code: fields?.code ?? '' };
  const hasNoCredit = status === 402 || isWithoutCredit(status, named, words);
  const cause = new Error(`the provider answered ${status} ${plainWord(named.code)}`.trim());
  const make: Make = (code, text, retryable, more = {}) =>
    new ProviderError(code, text, {
      retryable,
      charged: 'no',
      cause,
      status: facts.status < 300 ? undefined : facts.status,
      providerMessage: said?.providerMessage,
      keyRefused: KEY_REFUSED.has(status) || hasNoCredit,
      trouble: status === 429 && !hasNoCredit ? 'limited' : LATE.has(status) ? 'late' : undefined,
      ...(retryAfter === undefined ? {} : { retryAfter }),
      ...more,
    });

  if (hasNoCredit) {
    return make('upstream_error', 'The provider is not accepting requests from this service right now.', false);
  }
  if (isBlocked(status, named, words)) {
    const moderation = moderationIn(facts.body);
    const blocked = { charged: facts.blockedCharge ?? 'no', param: 'prompt', keyRefused: false, moderation } as const;
    return make('moderation_blocked', BLOCKED, false, blocked);
  }
  if (status >= 500) {
    // An error body in the API's own format means that the vendor generated nothing; a proxy's page does not.
    const unknown = status === 504 || status === 524 || (GAVE_UP.has(status) && fields === undefined);
    const text = NOT_REACHED.has(status) ? 'The provider could not be reached' : 'The provider failed';
    return make('upstream_error', `${text} (${status}).`, true, { charged: unknown ? 'maybe' : 'no' });
  }
  if (status === 408 || status === 409 || status === 425) {
    return make('upstream_error', `The provider asked to try again (${status}).`, true);
  }
  if (status === 429) return make('upstream_error', 'The provider is limiting requests (429).', true);
  if (status === 401 || status === 403) {
    return make('upstream_error', `The provider denied access (${status}).`, false);
  }
  if (status === 404 || status === 405) {
    // A page means a wrong address, which is so for every request; an error body is about this model.
    const isAboutRequest = fields !== undefined;
    return make('upstream_error', `The provider does not offer this model or call (${status}).`, false, {
      isAboutRequest,
    });
  }
  if (status >= 400) {
    const field = fields?.param ?? (fields && refusedField(facts.body));
    const param = field === undefined ? undefined : (facts.callerField ?? chosenField)(field);
    return badRequest(named, param, status, said?.reason, make);
  }
  return make('upstream_error', `The provider returned an unexpected response (${status}).`, false);
}

/** OpenAI's details, in the error or beside it. */
function moderationIn(body: unknown): ModerationDetails | undefined {
  const value = unwrapped(body);
  return (
    readModerationDetails(valueAt(value, 'error', 'moderation_details')) ??
    readModerationDetails(valueAt(value, 'moderation_details'))
  );
}

type Make = (
  code: ErrorCode,
  text: string,
  retryable: boolean,
  more?: Partial<ConstructorParameters<typeof ProviderError>[2]>,
) => ProviderError;

/** A rejected request says nothing about the provider, nor about other requests. */
function badRequest(
  named: { type: string; code: string },
  param: string | undefined,
  status: number,
  reason: string | undefined,
  make: Make,
): ProviderError {
  const about = { isAboutRequest: true, reason };
  if (BAD_IMAGE.test(named.code) || BAD_IMAGE.test(named.type)) {
    return make('invalid_image_file', 'The provider could not use one of the images.', false, about);
  }
  if (param !== undefined) {
    return make('invalid_value', `The provider does not accept this value of ${param}.`, false, { ...about, param });
  }
  return make('upstream_error', `The provider did not accept the request (${status}).`, false, about);
}

/** Of 4xx bodies alone, the text counts too: a server that fails may say anything. */
function isWithoutCredit(
  status: number,
  { type, code }: { type: string; code: string },
  { names, texts }: ErrorWords,
): boolean {
  if (NO_CREDIT.test(`${type} ${code}`)) return true;
  if (status < 400 || status > 403) return false;
  return names.some((name) => NO_CREDIT.test(name)) || texts.some((text) => NO_CREDIT_TEXT.test(text));
}

function isBlocked(status: number, { type, code }: { type: string; code: string }, words: ErrorWords): boolean {
  if (isModeration(status, words)) return true;
  // OpenAI's type of what its moderation and its checks of images reject.
  return status === 400 && type === 'image_generation_user_error' && !BAD_IMAGE.test(code);
}

/**
 * An error in a response with status 200, in a stream's event, or in the entry of one image, classified by its content;
 * `body` contains it. `blockedCharge` as in `refusal`.
 */
export function errorInside(body: unknown, said: SaidMessage, blockedCharge: 'no' | 'maybe' = 'no'): ProviderError {
  const fields = fieldsOf(body);
  return refusal({ status: 200, meaning: meaningOf(fields, errorWords(body)), fields, body, said, blockedCharge });
}

/** Whether a body without an `error` is one all the same: of moderation, of a missing credit, or with an HTTP status. */
export function isRefusal(body: unknown): boolean {
  const words = errorWords(body);
  return (
    isModeration(200, words) || isWithoutCredit(400, { type: '', code: '' }, words) || statusIn(words) !== undefined
  );
}

/**
 * The status that an error in a response with status 200 stands for; undefined when the body is no error. `body`: parsed
 * JSON.
 */
export function statusOfError(body: unknown): number | undefined {
  const error = valueAt(unwrapped(body), 'error');
  const isError = (typeof error === 'object' && error !== null) || (typeof error === 'string' && error !== '');
  if (!isError && !isRefusal(body)) return undefined;
  const { type = '', code = '' } = fieldsOf(body);
  const words = errorWords(body);
  return isWithoutCredit(400, { type, code }, words) ? 402 : meaningOf({ type, code }, words);
}

function statusIn({ names }: ErrorWords): number | undefined {
  const number = names.find((name) => /^[45]\d\d$/.test(name));
  return number === undefined ? undefined : Number(number);
}

/** The status that an error without one stands for. */
function meaningOf({ type = '', code = '' }: ErrorFields, words: ErrorWords): number {
  const number = statusIn(words);
  if (number !== undefined) return number;
  const text = `${type} ${code}`;
  if (/rate_?limit|too_?many|resource_?exhausted/i.test(text)) return 429;
  if (isModeration(200, words) || /user_error/.test(text)) return 400;
  if (/invalid_?api_?key|unauthori[sz]ed|unauthenticated|authentication/i.test(text)) return 401;
  if (/permission|forbidden/i.test(text)) return 403;
  if (/model_?not_?found|not_?found/i.test(text)) return 404;
  return /invalid|bad_?request|validation|unsupported|unprocessable/i.test(text) ? 400 : 500;
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
    trouble: reason === 'late' ? 'late' : undefined,
    cause: new Error(`${wasSent ? 'after' : 'before'} the request was sent: ${plainWord(code)}`),
  });
}

/** Only single words are logged as codes. */
function plainWord(text: string): string {
  return /^[A-Za-z0-9_.-]{1,64}$/.test(text) ? text : '';
}
