import { Injectable, Optional } from '@nestjs/common';
import { request } from 'undici';
import { checkedAgent } from './checked-agent.js';
import { systemResolve, type Network } from './checked-connect.js';
import { EgressConfig } from './egress.config.js';
import { assertPublicUrlShape } from './public-url.js';
import { timeLimit } from './time-limit.js';

/** An answer is read so far, for the receiver's sake alone: one that is cut off in the middle of writing complains. */
const MAX_ANSWER_BYTES = 65_536;
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
  { readonly status: number } | { readonly failure: 'timeout' | 'tls' | 'unreachable'; readonly cause: unknown };

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
      // The status is the answer; what follows it changes nothing.
      await answer.body.dump({ limit: MAX_ANSWER_BYTES, signal }).catch(() => undefined);
      return { status: answer.statusCode };
    } catch (cause) {
      message.signal.throwIfAborted();
      return { failure: failureOf(cause, late.aborted), cause };
    } finally {
      await agent.destroy();
    }
  }
}

function failureOf(cause: unknown, late: boolean): 'timeout' | 'tls' | 'unreachable' {
  if (late) return 'timeout';
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : '';
  if (/^UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT$/.test(code)) return 'timeout';
  return TLS_CODE.test(code) ? 'tls' : 'unreachable';
}
