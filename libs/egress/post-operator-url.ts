import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { Agent } from 'undici';
import { readCappedBody } from './capped-body.js';
import { postFailureOf, type PostFailure } from './post-failure.js';
import { timeLimit } from './time-limit.js';
import { abortableRequest } from './undici.js';

const MAX_HEADER_BYTES = 16_384;

/** A message to a service that a setting of the installation names. */
export interface OperatorMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Readable;
  /** From opening the connection to the end of the answer, in ms. */
  readonly timeoutMs: number;
  /** Bytes of the answer's body; one that is longer counts as unreachable. */
  readonly maxAnswerBytes: number;
  readonly signal: AbortSignal;
}

/** The answer with its whole body, or why there is none; `cause` is for the log only. */
export type OperatorAnswer =
  { readonly status: number; readonly body: Buffer } | { readonly failure: PostFailure; readonly cause: unknown };

/**
 * Sends messages to URLs that the operator has configured. Unlike those of users and providers, they may lead to private
 * networks and any port, and don't go through EGRESS_PROXY, which rejects such addresses. Follows no redirects.
 */
@Injectable()
export class OperatorPoster {
  /** Throws only the signal's reason, when it aborts. */
  async post(url: string, message: OperatorMessage): Promise<OperatorAnswer> {
    message.signal.throwIfAborted();
    const { timeoutMs, body } = message;
    const late = timeLimit(timeoutMs);
    const agent = new Agent({
      connect: { timeout: timeoutMs },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      maxHeaderSize: MAX_HEADER_BYTES,
      pipelining: 0,
    });
    try {
      const signal = AbortSignal.any([message.signal, late]);
      const headers = { 'user-agent': 'Darkroom', ...message.headers };
      const answer = await abortableRequest(url, { method: 'POST', headers, body, dispatcher: agent, signal });
      const announced = Number(answer.headers['content-length'] ?? 0) || 0;
      const limits = { maxBytes: message.maxAnswerBytes, announced, minRate: 0, rateWindowMs: timeoutMs };
      return { status: answer.statusCode, body: await readCappedBody(answer.body, limits) };
    } catch (cause) {
      message.signal.throwIfAborted();
      return { failure: postFailureOf(cause, late.aborted), cause };
    } finally {
      if (typeof body !== 'string') body.destroy();
      await agent.destroy();
    }
  }
}
