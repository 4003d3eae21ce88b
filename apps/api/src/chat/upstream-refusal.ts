import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import type { ErrorBody } from '#contract/app-error.js';
import { redact } from '#telemetry/logger.js';
import type { ChatAnswer } from '#providers/chat/chat-provider.js';
import { passedHeaders } from './answer-headers.js';

/** Bytes of a refusal that are read; what is longer is no error body. */
const MAX_REFUSAL = 65_536;
/** Characters of its message that are passed on. */
const MAX_MESSAGE = 2_000;
const WORD = /^[A-Za-z0-9_.[\]-]{1,64}$/;

/** A provider's answer that is no success, read to its end. */
export interface Refusal {
  readonly status: number;
  readonly headers: ChatAnswer['headers'];
  readonly text: string;
}

/** Reads an answer that is no success. Throws the connection's error. */
export async function readRefusal({ status, headers, body }: ChatAnswer): Promise<Refusal> {
  return { status, headers, text: await readCapped(body) };
}

/** What a proxy says that stopped waiting for the server behind it; the first two whatever the body. */
const GATEWAY_TIMEOUT: ReadonlySet<number> = new Set([504, 524]);
const GATEWAY_ERROR: ReadonlySet<number> = new Set([502, 520]);

/** Whether nothing can have been generated, so that another key or provider may be asked. */
export function mayAskAnother(refusal: Refusal): boolean {
  const { status } = refusal;
  return status === 429 || isOurFault(status) || (status >= 500 && !isUnclear(refusal));
}

/** Whether a proxy gave up on a provider that may be generating all the same, so that the chat may be charged. */
export function isUnclear({ status, text }: Refusal): boolean {
  // The provider's own error body says that nothing came of the call; a proxy's page does not.
  return GATEWAY_TIMEOUT.has(status) || (GATEWAY_ERROR.has(status) && Object.keys(errorIn(text)).length === 0);
}

/** Whether the provider refuses our key or our account, or sends us elsewhere: of no use to the caller. */
export function isOurFault(status: number): boolean {
  return status === 401 || status === 402 || status === 403 || status < 400;
}

/** Seconds the provider asks to wait; undefined when it does not say, or in words. */
export function secondsToWait({ headers }: Refusal): number | undefined {
  const seconds = Number(headers['retry-after'] ?? NaN);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
}

/** Answers with the provider's status and what it said, in the contract's error body. */
export function sendRefusal(refusal: Refusal, request: FastifyRequest, reply: FastifyReply): void {
  const { status, headers } = refusal;
  const passed = passedHeaders(headers);
  delete passed['content-type'];
  delete passed['content-encoding'];
  void reply
    .code(status)
    .headers(passed)
    .header('cache-control', 'no-store')
    .type('application/json')
    .send(JSON.stringify(refusalBody(refusal, request.id)));
}

type RefusalBody = Omit<ErrorBody, 'error'> & {
  error: { type: string; code: string | null; message: string; param: string | null };
};

/** The contract's error body with the provider's own message, redacted and cut, and its type, param and code, where they are plain words. */
export function refusalBody({ status, text }: Refusal, requestId: string): RefusalBody {
  const said = errorIn(text);
  return {
    type: 'error',
    error: {
      type: wordOr(said['type']) ?? typeOf(status),
      code: wordOr(said['code']) ?? null,
      message: redact(textOr(said['message']) ?? `The provider answered with status ${status}.`).slice(0, MAX_MESSAGE),
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

/** What is no plain word may be anything: a key, an address, a text of the vendor. */
function wordOr(value: unknown): string | undefined {
  const text = textOr(value);
  return text !== undefined && WORD.test(text) && redact(text) === text ? text : undefined;
}

/** Some servers count where OpenAI names. */
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
