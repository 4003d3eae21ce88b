import { Injectable, Optional } from '@nestjs/common';
import { request } from 'undici';
import { checkedAgent } from './checked-agent.js';
import { systemResolve, type Network } from './checked-connect.js';
import { EgressConfig } from './egress.config.js';
import { assertPublicUrlShape } from './public-url.js';
import { timeLimit } from './time-limit.js';

/** An answer is read so far, for the receiver's sake: one that is cut off in the middle of writing complains. */
const MAX_ANSWER_BYTES = 65_536;
/** So much of it is kept. */
const KEPT_BYTES = 500;
const CONTROLS = /[^\P{Cc}\n\t]/gu;
/** What OpenSSL and Node say of a certificate or a handshake that is not in order. */
const TLS_CODE = /CERT|TLS|SSL|SIGNATURE|EPROTO/;

/** A message for an address that a caller named. */
export interface PostedMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** From opening the connection to the end of the answer, in ms. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * The receiver's status, or why there is none: no answer in time, a certificate that is not valid, or anything else
 * between the name and the first byte, which all look the same. `cause` is for the log only.
 */
export type PostResult =
  | {
      readonly status: number;
      /** The beginning of the body; undefined when that is empty or no UTF-8 text. */
      readonly text: string | undefined;
    }
  | { readonly failure: 'timeout' | 'tls' | 'unreachable'; readonly cause: unknown };

/** Sends messages to https addresses that users gave: public ones alone, checked at connect time, without redirects. */
@Injectable()
export class PublicPoster {
  constructor(
    private readonly config: EgressConfig,
    @Optional() private readonly network: Network = { resolve: systemResolve },
  ) {}

  /** Throws the signal's reason when it aborts, and nothing else. */
  async post(text: string, message: PostedMessage): Promise<PostResult> {
    message.signal.throwIfAborted();
    const { timeoutMs } = message;
    const late = timeLimit(timeoutMs);
    const agent = checkedAgent(this.config, this.network, { connectTimeoutMs: timeoutMs, bodyTimeoutMs: timeoutMs });
    try {
      const url = assertPublicUrlShape(text, this.config, { httpsOnly: true });
      const signal = AbortSignal.any([message.signal, late]);
      const headers = { 'user-agent': 'Darkroom', ...message.headers };
      const answer = await request(url, { method: 'POST', headers, body: message.body, dispatcher: agent, signal });
      return { status: answer.statusCode, text: await beginningOf(answer.body) };
    } catch (cause) {
      message.signal.throwIfAborted();
      return { failure: failureOf(cause, late.aborted), cause };
    } finally {
      await agent.destroy();
    }
  }
}

/** Reads a body. Never fails: the status is the answer, and what follows it changes nothing. */
async function beginningOf(body: AsyncIterable<Buffer>): Promise<string | undefined> {
  const kept: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      if (bytes < KEPT_BYTES) kept.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) break;
    }
    // Of a character that was cut off, nothing is kept.
    const decoder = new TextDecoder('utf-8', { fatal: true });
    const text = decoder.decode(Buffer.concat(kept).subarray(0, KEPT_BYTES), { stream: true });
    return text.replace(CONTROLS, '').trim() || undefined;
  } catch {
    return undefined;
  }
}

function failureOf(cause: unknown, late: boolean): 'timeout' | 'tls' | 'unreachable' {
  if (late) return 'timeout';
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : '';
  if (/^UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT$/.test(code)) return 'timeout';
  return TLS_CODE.test(code) ? 'tls' : 'unreachable';
}
