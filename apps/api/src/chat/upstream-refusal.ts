import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import type { ErrorBody } from '#contract/app-error.js';
import { redact } from '#telemetry/logger.js';
import type { ChatResponse } from '#providers/chat/chat-provider.js';
import { passedHeaders } from './answer-headers.js';

/** Bytes of a refusal that are read; a longer body is not an error body. */
const MAX_REFUSAL = 65_536;
/** Characters of its message that are passed on. */
const MAX_MESSAGE = 2_000;
const WORD = /^[A-Za-z0-9_.[\]-]{1,64}$/;

/** A provider's error response, read to its end. */
export interface Refusal {
  readonly status: number;
  readonly headers: ChatResponse['headers'];
  readonly text: string;
}

/** Reads an error response. Throws connection errors. */
export async function readRefusal({ status, headers, body }: ChatResponse): Promise<Refusal> {
  return { status, headers, text: await readCapped(body) };
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
  return GATEWAY_TIMEOUT.has(status) || (GATEWAY_ERROR.has(status) && Object.keys(errorIn(text)).length === 0);
}

/** Whether the provider rejects our key or account, or redirects: of no use to the caller. */
export function isOurFault(status: number): boolean {
  return status === 401 || status === 402 || status === 403 || status < 400;
}

/** The provider's Retry-After in seconds; undefined when it is missing or not a number. */
export function secondsToWait({ headers }: Refusal): number | undefined {
  const seconds = Number(headers['retry-after'] ?? NaN);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
}

/** Sends the provider's status and message in the contract's error body. */
export function sendRefusal(refusal: Refusal, request: FastifyRequest, reply: FastifyReply): void {
  const { status, headers } = refusal;
  const passed = passedHeaders(headers);
  delete passed['content-type'];
  delete passed['content-encoding'];
  void reply
    .code(status > 599 ? 502 : status)
    .headers(passed)
    .header('cache-control', 'no-store')
    .type('application/json')
    .send(JSON.stringify(refusalBody(refusal, request.id)));
}

type RefusalBody = Omit<ErrorBody, 'error'> & {
  error: { type: string; code: string | null; message: string; param: string | null };
};

/**
 * The contract's error body with the provider's own message, redacted and shortened, and its type, param and code if
 * they are plain identifiers.
 */
export function refusalBody({ status, text }: Refusal, requestId: string): RefusalBody {
  const said = errorIn(text);
  return {
    type: 'error',
    error: {
      type: wordOr(said['type']) ?? typeOf(status),
      code: wordOr(said['code']) ?? null,
      message: redact(textOr(said['message']) ?? `The provider returned status ${status}.`).slice(0, MAX_MESSAGE),
      param: wordOr(said['param']) ?? null,
    },
    request_id: requestId,
  };
}

function errorIn(text: string): Record<string, unknown> {
  try {
    const body = JSON.parse(text) as { error?: unknown } | null;
    const error = body?.error ?? body;
    if (typeof error === 'string') return { message: error };
    return typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Anything but a plain identifier could be a key, an address, or text. */
function wordOr(value: unknown): string | undefined {
  const text = textOr(value);
  return text !== undefined && WORD.test(text) && redact(text) === text ? text : undefined;
}

/** Some servers send numbers where OpenAI sends names. */
function textOr(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error';
  if (status === 404) return 'not_found_error';
  return status < 500 ? 'invalid_request_error' : 'upstream_error';
}

async function readCapped(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_REFUSAL) return '';
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
