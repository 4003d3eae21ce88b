import { CONSOLE } from './place.ts';
import type { Schema } from './generated/schema.ts';

const BASE = `${CONSOLE}/api`;
const TIMEOUT_MS = 60_000;

/** An error from the API, with its message and the request id for the log. */
export class RequestError extends Error {
  constructor(
    /** 0: no response. */
    readonly status: number,
    readonly code: string | null,
    message: string,
    readonly param: string | null,
    readonly requestId: string | null,
  ) {
    super(message);
    this.name = 'RequestError';
  }
}

/** Asks the user for their password; false when they decline. Registered by the page (ProofDialog). */
let askProof: (() => Promise<boolean>) | undefined;

export function onProofRequired(ask: typeof askProof): void {
  askProof = ask;
}

export type Query = Readonly<Record<string, string | number | undefined>>;

export function addressOf(path: string, query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  );
  const text = new URLSearchParams(pairs).toString();
  return `${BASE}${path}${text === '' ? '' : `?${text}`}`;
}

export async function get<Answer>(path: string, query?: Query, signal?: AbortSignal): Promise<Answer> {
  return await request<Answer>('GET', addressOf(path, query), undefined, signal);
}

/**
 * Sends a change: `body` as JSON, or a form as it is. Requests with the same `idempotencyKey` take effect once. Throws
 * RequestError.
 */
export async function send<Answer>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
  idempotencyKey?: string,
  query?: Query,
): Promise<Answer> {
  const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
  const call = () => request<Answer>(method, addressOf(path, query), body, undefined, headers);
  try {
    return await call();
  } catch (error) {
    // Changes of how someone signs in need a fresh proof; the change itself goes on after it.
    const needsProof = error instanceof RequestError && error.code === 'proof_required';
    if (!needsProof || (await askProof?.()) !== true) throw error;
    return await call();
  }
}

/** 128 random bits; `crypto.randomUUID` is missing where the console is served without TLS. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function request<Answer>(
  method: string,
  url: string,
  body?: object,
  signal?: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const isForm = body instanceof FormData;
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      credentials: 'same-origin',
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      headers: {
        accept: 'application/json',
        // Another site can neither set this header nor send our Origin.
        ...(method === 'GET' ? {} : { 'x-darkroom-csrf': '1' }),
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new RequestError(0, null, 'The service did not respond. Check your connection and try again.', null, null);
  }
  const answer = await readJson(response);
  if (!response.ok) throw errorOf(response, answer);
  return answer as Answer;
}

async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function errorOf(response: Response, answer: unknown): RequestError {
  const { error, request_id: requestId } = (answer ?? {}) as Partial<Schema['ErrorResponse']>;
  return new RequestError(
    response.status,
    error?.code ?? null,
    error?.message ?? `The service returned ${response.status} without a reason.`,
    error?.param ?? null,
    requestId ?? response.headers.get('x-request-id'),
  );
}
