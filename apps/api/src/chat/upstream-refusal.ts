import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import type { ErrorBody } from '#contract/app-error.js';
import type { ChatResponse } from '#providers/chat/chat-provider.js';
import { errorText, errorWords, fieldsOf, messageOf, parsedError, unwrapped } from '#providers/http/error-body.js';
import { statusOfError } from '#providers/http/failures.js';
import { isModeration, isModerationCode } from '#providers/http/moderation.js';
import { providerMessage } from '#providers/http/provider-message.js';
import { secondsToWait as secondsIn } from '#providers/http/retry-after.js';
import { redact } from '#telemetry/redact.js';
import { passedHeaders } from './answer-headers.js';

/** Characters of its message that are passed on. */
const MAX_MESSAGE = 2_000;
const WORD = /^[A-Za-z0-9_.[\]-]{1,64}$/;
/** Shorter names may be ordinary words. */
const MIN_HIDDEN = 6;

/** A provider's error response, with the beginning of its body. */
export interface Refusal {
  readonly status: number;
  readonly headers: ChatResponse['headers'];
  readonly text: string;
  /** Texts that callers must not see: the provider's host and credentials. */
  readonly hidden?: readonly string[];
}

/**
 * Reads an error response. A prompt that moderation blocks with 403 is a bad request: it says nothing about the key, and
 * another provider is no way around it.
 */
export async function readRefusal(
  { status, headers, body }: ChatResponse,
  hidden: readonly string[],
): Promise<Refusal> {
  const text = (await errorText(body)).toString();
  const refusal = { status, headers, text, hidden };
  return status === 403 && isBlocked(refusal) ? { ...refusal, status: 400 } : refusal;
}

/** Bytes of a JSON response that are read first: an error is no longer. */
const MAX_ERROR_BYTES = 8_192;

/**
 * Reads the beginning of a response with status 2xx: gateways report errors in such ones, too. Returns the error, or the
 * response, whose body is still complete. Throws the connection's error.
 */
export async function openAnswer(
  answer: ChatResponse,
  hidden: readonly string[],
): Promise<{ readonly refusal: Refusal } | { readonly answer: ChatResponse }> {
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(String(answer.headers['content-type']))) return { answer };
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer.body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes <= MAX_ERROR_BYTES) continue;
    answer.body.unshift(Buffer.concat(pieces));
    return { answer };
  }
  const whole = Buffer.concat(pieces);
  const { isJson, value } = parsedError(whole.toString());
  const status = isJson && !isAnswer(value) ? statusOfError(value) : undefined;
  if (status !== undefined) return { refusal: { status, headers: answer.headers, text: whole.toString(), hidden } };
  return { answer: { ...answer, body: Readable.from([whole], { objectMode: false }) } };
}

/** Types of what calls about Responses return. */
const OBJECTS: ReadonlySet<unknown> = new Set(['response', 'response.deleted', 'list']);

/** A chat completion, or a response, which reports the failure of the model in an `error` of its own. */
function isAnswer(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return 'choices' in value || ('object' in value && OBJECTS.has(value.object));
}

/** Whether the provider refused the request for its content. */
export function isBlocked({ status, text }: Refusal): boolean {
  return isModeration(status, errorWords(parsedError(text).value));
}

/** Statuses of a proxy that gave up on the server behind it; GATEWAY_TIMEOUT whatever the body. */
const GATEWAY_TIMEOUT: ReadonlySet<number> = new Set([504, 524]);
const GATEWAY_ERROR: ReadonlySet<number> = new Set([502, 520]);

/** Whether nothing can have been generated, so that another key or provider may be called. */
export function mayAskAnother(refusal: Refusal): boolean {
  const { status } = refusal;
  return status === 429 || isOurFault(status) || (status >= 500 && !isUnclear(refusal));
}

/** Whether a proxy gave up on a provider that may still be generating, so that the chat may be charged. */
export function isUnclear({ status, text }: Refusal): boolean {
  // The provider's own error body means that the call failed; a proxy's error page does not.
  return GATEWAY_TIMEOUT.has(status) || (GATEWAY_ERROR.has(status) && !hasOwnError(text));
}

function hasOwnError(text: string): boolean {
  const value = unwrapped(parsedError(text).value);
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

/** Whether the provider rejects our key or account, or redirects: of no use to the caller. */
export function isOurFault(status: number): boolean {
  return status === 401 || status === 402 || status === 403 || status < 400;
}

/** The seconds that the provider asked to wait; undefined when it named none. */
export function secondsToWait({ status, headers }: Refusal): number | undefined {
  const seconds = secondsIn(status, headers);
  return seconds !== undefined && seconds > 0 ? seconds : undefined;
}

/** Sends the provider's status and message in the contract's error body. */
export function sendRefusal(refusal: Refusal, request: FastifyRequest, reply: FastifyReply): void {
  const { status, headers } = refusal;
  const passed = passedHeaders(headers);
  delete passed['content-type'];
  delete passed['content-encoding'];
  const seconds = secondsToWait(refusal);
  // Clients read whole seconds only.
  if (seconds !== undefined) passed['retry-after'] = String(Math.ceil(seconds));
  void reply
    .code(status > 599 ? 502 : status)
    .headers(passed)
    .header('cache-control', 'no-store')
    .type('application/json')
    .send(JSON.stringify(refusalBody(refusal, request.id)));
}

/** The provider's own message for operators; undefined when there is none. */
export function messageIn({ text, hidden = [] }: Refusal): string | undefined {
  return providerMessage(parsedError(text).value, hidden);
}

type RefusalBody = Omit<ErrorBody, 'error'> & {
  error: { type: string; code: string | null; message: string; param: string | null };
};

/**
 * The contract's error body with the provider's own message, redacted and shortened, and its type, param and code if
 * they are plain identifiers.
 */
export function refusalBody({ status, text, hidden = [] }: Refusal, requestId: string): RefusalBody {
  const { value } = parsedError(text);
  const { type, code, param } = fieldsOf(value);
  const message = messageOf(value);
  const said = message === undefined ? undefined : redact(withoutNames(message, hidden)).trim();
  const isUnnamed = isModeration(status, errorWords(value)) && !isModerationCode(code ?? '');
  return {
    type: 'error',
    error: {
      type: wordOr(type) ?? typeOf(status),
      code: isUnnamed && /^\d*$/.test(code ?? '') ? 'moderation_blocked' : (wordOr(code) ?? null),
      message: (said || `The provider returned status ${status}.`).slice(0, MAX_MESSAGE),
      param: wordOr(param) ?? null,
    },
    request_id: requestId,
  };
}

function withoutNames(message: string, hidden: readonly string[]): string {
  return hidden
    .filter(({ length }) => length >= MIN_HIDDEN)
    .reduce((text, name) => text.replaceAll(name, '[redacted]'), message);
}

/** Anything but a plain identifier could be a key, an address, or text. */
function wordOr(text: string | undefined): string | undefined {
  return text !== undefined && WORD.test(text) && redact(text) === text ? text : undefined;
}

function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error';
  if (status === 404) return 'not_found_error';
  return status < 500 ? 'invalid_request_error' : 'upstream_error';
}
