import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { inSlices } from '#bytes/bytes.js';
import { decodedPieces } from '#egress/decoded-body.js';
import { abortableRequest } from '#egress/undici.js';
import { ProviderError } from '../provider-error.js';
import { connectionFailure, unusable, type SaidMessage } from './failures.js';
import { providerAgent } from './provider-agent.js';
import { callerReason, providerMessage } from './provider-message.js';
import type { ProviderProxyConfig } from './proxy.config.js';
import type { RequestBody } from './request-body.js';
import { secondsToWait } from './retry-after.js';

/** Credentials that change, such as tokens that expire. */
export interface ChangingCredentials {
  /** Headers of the next call. Throws ProviderError when there are none now, and the signal's reason when it aborts. */
  headers(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** The server rejected these headers (401). */
  rejected(headers: Readonly<Record<string, string>>): void;
}

/** A vendor's address, the credentials for it, and the time limits of a call. */
export interface UpstreamSettings {
  readonly apiKey?: string | undefined;
  /** Instead of `apiKey`. */
  readonly credentials?: ChangingCredentials | undefined;
  readonly baseUrl: string;
  readonly organization?: string | undefined;
  readonly project?: string | undefined;
  /** Sent with every call, for example a key that is not a bearer token. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The proxy to connect through. */
  readonly proxy?: ProviderProxyConfig | undefined;
  readonly connectTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly totalTimeoutMs: number;
  /** How long failed downloads of a call's images are tried again, in ms; 20 s if absent. */
  readonly imagePatienceMs?: number;
}

/** One call to a vendor. */
export interface UpstreamCall {
  /**
   * Relative to the base URL, or a full URL of another host of the vendor that the operator also trusts with the key.
   */
  readonly path: string;
  /** Absent for GET requests. */
  readonly body?: RequestBody;
  readonly accept: string;
  readonly idempotencyKey?: string | undefined;
  readonly traceparent?: string | undefined;
  readonly signal: AbortSignal;
  /** Maximum bytes of the response. */
  readonly maxBytes: number;
}

/** A vendor's response whose body has not been read yet. */
export interface UpstreamResponse {
  readonly status: number;
  /** Lower case, without parameters; empty when absent. */
  readonly contentType: string;
  /** Seconds that the server asked to wait. */
  readonly retryAfter: number | undefined;
  /** Length that the server announced for the body, in bytes; 0 if it did not. */
  readonly announced: number;
  /**
   * Throws ProviderError when the body breaks off, pauses too long, or is too long; the signal's reason when aborted.
   */
  readonly body: AsyncIterable<Buffer>;
}

/** A server that the operator configured, so it receives the key and is reached without the rules of egress. */
export class Upstream {
  private readonly agent: Dispatcher;
  private readonly base: string;
  /** Credentials sent to the server, which may quote them in errors. */
  private readonly secrets: readonly string[];
  /** Those of the latest call, if they change. */
  private shown: Readonly<Record<string, string>> = {};

  constructor(private readonly settings: UpstreamSettings) {
    this.base = settings.baseUrl.replace(/\/+$/, '');
    const headers = secretsIn(settings.headers ?? {});
    this.secrets = [...(settings.apiKey === undefined ? [] : [settings.apiKey]), ...headers];
    this.agent = providerAgent(settings.proxy, {
      connectTimeoutMs: settings.connectTimeoutMs,
      headersTimeout: settings.firstByteTimeoutMs,
      bodyTimeout: settings.idleTimeoutMs,
      // Use a new connection for each call: the server may close a kept one just as a paid request is sent, and the
      // outcome would be unknown. Compared with generating an image, a handshake takes no time.
      pipelining: 0,
    });
  }

  /**
   * Sends a POST request, or GET if there is no body, and passes the response to `read`. Throws ProviderError for
   * network failures, stating whether the request had been sent; throws the signal's reason when it aborts.
   */
  async call<T>(call: UpstreamCall, read: (answer: UpstreamResponse) => Promise<T>): Promise<T> {
    call.signal.throwIfAborted();
    const stop = new AbortController();
    const abort = (): void => stop.abort(new Error('aborted'));
    call.signal.addEventListener('abort', abort, { once: true });
    const timer = setTimeout(() => stop.abort(new TotalTimeout()), this.settings.totalTimeoutMs);
    const state = { sent: false };
    try {
      return await read(await this.send(call, stop.signal, state));
    } catch (error) {
      call.signal.throwIfAborted();
      if (error instanceof ProviderError) throw error;
      const cause: unknown = stop.signal.aborted ? stop.signal.reason : error;
      if (!(cause instanceof TotalTimeout) && codeOf(cause) === undefined) throw cause;
      throw failureOf(cause, state.sent);
    } finally {
      clearTimeout(timer);
      call.signal.removeEventListener('abort', abort);
      // Ends a body that was not read to its end.
      stop.abort(new Error('done'));
    }
  }

  /** The server's message about a failure, without secrets; undefined if there is none. */
  messageIn(body: unknown): string | undefined {
    return providerMessage(body, [...this.secrets, ...secretsIn(this.shown)]);
  }

  /** The same message, for operators and for the caller of a rejected request. */
  said(body: unknown): SaidMessage {
    const message = this.messageIn(body);
    return { providerMessage: message, reason: callerReason(message, new URL(this.base).hostname) };
  }

  private async send(call: UpstreamCall, signal: AbortSignal, state: { sent: boolean }): Promise<UpstreamResponse> {
    const { apiKey, credentials, organization, project, headers: own } = this.settings;
    const shown = (await credentials?.headers(signal)) ?? {};
    this.shown = shown;
    const sent = call.body;
    const url = URL.canParse(call.path) ? call.path : this.base + call.path;
    const { statusCode, headers, body } = await abortableRequest(url, {
      dispatcher: this.agent,
      method: sent === undefined ? 'GET' : 'POST',
      signal,
      headers: {
        accept: call.accept,
        'accept-encoding': 'identity',
        'user-agent': 'Darkroom',
        ...own,
        ...shown,
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        ...(sent === undefined ? {} : { 'content-type': sent.contentType, 'content-length': String(sent.bytes) }),
        ...(call.idempotencyKey === undefined ? {} : { 'idempotency-key': call.idempotencyKey }),
        ...(call.traceparent === undefined ? {} : { traceparent: call.traceparent }),
        ...(organization === undefined ? {} : { 'openai-organization': organization }),
        ...(project === undefined ? {} : { 'openai-project': project }),
      },
      // undici accepts any async iterable and, unlike for a stream, takes the next piece only after sending the last
      // one.
      body: sent === undefined ? null : (sending(sent.pieces, state) as unknown as Readable),
    });
    if (statusCode === 401) credentials?.rejected(shown);
    // An unread body fails when the call ends; ignore that error.
    body.on('error', () => undefined);
    return {
      status: statusCode,
      contentType: mediaType(headers['content-type']),
      retryAfter: secondsToWait(statusCode, headers),
      announced: Math.min(Number(headers['content-length'] ?? 0) || 0, call.maxBytes),
      body: capped(decodedPieces(body, headers['content-encoding']), call.maxBytes, signal),
    };
  }
}

/** Header values, and their parts, such as the token after `Bearer`. */
function secretsIn(headers: Readonly<Record<string, string>>): string[] {
  return Object.values(headers).flatMap((value) => [value, ...value.split(' ')]);
}

class TotalTimeout extends Error {
  override readonly name = 'TotalTimeout';
}

/**
 * A request can't have been executed before its last slice is sent. Slices also keep TLS from encrypting a whole image
 * at once.
 */
async function* sending(pieces: readonly Buffer[], state: { sent: boolean }): AsyncGenerator<Buffer> {
  let rest = pieces.reduce((sum, piece) => sum + piece.length, 0);
  for (const piece of pieces) {
    for await (const slice of inSlices(piece)) {
      rest -= slice.length;
      if (rest === 0) state.sent = true;
      yield slice;
    }
  }
}

async function* capped(body: AsyncIterable<Buffer>, maxBytes: number, stop: AbortSignal): AsyncGenerator<Buffer> {
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw unusable('the answer is too long', 'yes');
      yield chunk;
    }
  } catch (error) {
    // Readers must not mistake a broken connection for invalid content.
    throw error instanceof ProviderError ? error : failureOf(stop.aborted ? stop.reason : error, true);
  }
}

const LATE = /TIMEOUT$/;

/** Network error messages contain the host, so only the code is kept. */
function failureOf(error: unknown, sent: boolean): ProviderError {
  if (error instanceof TotalTimeout) return connectionFailure('late', sent, 'TOTAL_TIMEOUT');
  const code = codeOf(error) ?? '';
  return connectionFailure(LATE.test(code) ? 'late' : 'cut', sent, code);
}

function mediaType(header: unknown): string {
  const [type = ''] = typeof header === 'string' ? header.split(';', 1) : [];
  return type.trim().toLowerCase();
}

/** Network errors have a code, errors of undici's parser perhaps only their name; programming errors have neither. */
function codeOf(error: unknown): string | undefined {
  const { code, name } = Object(error) as { code?: unknown; name?: unknown };
  if (typeof code === 'string') return code;
  return name === 'HTTPParserError' ? name : undefined;
}
