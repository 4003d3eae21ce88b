import { Injectable, Optional } from '@nestjs/common';
import { checkedAgent } from './checked-agent.js';
import type { Network } from './checked-connect.js';
import { EgressConfig } from './egress.config.js';
import { postFailureOf, type PostFailure } from './post-failure.js';
import { assertPublicUrlShape } from './public-url.js';
import { resolveHost } from './resolve-host.js';
import { timeLimit } from './time-limit.js';
import { abortableRequest } from './undici.js';

/** How much of a response is read: some receivers log an error when the connection closes while they still write. */
const MAX_ANSWER_BYTES = 65_536;
/** How much of the response is kept. */
const MAX_EXCERPT_BYTES = 500;
const CONTROLS = /[^\P{Cc}\n\t]/gu;

/** A message to a URL that a user gave. */
export interface PostedMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** From opening the connection to the end of the response, in ms. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Whether a receiver on this machine may have plain http. */
  readonly plainLoopback?: boolean;
}

/**
 * The receiver's status, or why there is none: a timeout, an invalid certificate, or any other failure before the
 * response, all reported alike. `cause` is for the log only.
 */
export type PostResult =
  | {
      readonly status: number;
      /** The beginning of the body; undefined when it is empty or not UTF-8 text. */
      readonly text: string | undefined;
    }
  | { readonly failure: PostFailure; readonly cause: unknown };

/**
 * Sends messages to https URLs that users gave, and to http ones of this machine where the message says so. Reaches only public and allowed addresses, checked when it connects,
 * and follows no redirects.
 */
@Injectable()
export class PublicPoster {
  constructor(
    private readonly config: EgressConfig,
    @Optional() private readonly network: Network = { resolve: resolveHost },
  ) {}

  /** Throws only the signal's reason, when it aborts. */
  async post(text: string, message: PostedMessage): Promise<PostResult> {
    message.signal.throwIfAborted();
    const { timeoutMs, plainLoopback = false } = message;
    const late = timeLimit(timeoutMs);
    const agent = checkedAgent(this.config, this.network, { connectTimeoutMs: timeoutMs, bodyTimeoutMs: timeoutMs });
    try {
      const url = assertPublicUrlShape(text, this.config, { httpsOnly: plainLoopback ? 'or_loopback' : true });
      const signal = AbortSignal.any([message.signal, late]);
      const headers = { 'user-agent': 'Darkroom', ...message.headers };
      const { dispatcher } = agent;
      const answer = await abortableRequest(url, { method: 'POST', headers, body: message.body, dispatcher, signal });
      return { status: answer.statusCode, text: await readExcerpt(answer.body) };
    } catch (cause) {
      message.signal.throwIfAborted();
      return { failure: postFailureOf(cause, late.aborted), cause };
    } finally {
      await agent.destroy();
    }
  }
}

/** Reads the beginning of a body. Never throws: the status alone decides the result. */
async function readExcerpt(body: AsyncIterable<Buffer>): Promise<string | undefined> {
  const kept: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      if (bytes < MAX_EXCERPT_BYTES) kept.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) break;
    }
    // `stream: true` drops a character that was cut off at the end.
    const decoder = new TextDecoder('utf-8', { fatal: true });
    const text = decoder.decode(Buffer.concat(kept).subarray(0, MAX_EXCERPT_BYTES), { stream: true });
    return text.replace(CONTROLS, '').trim() || undefined;
  } catch {
    return undefined;
  }
}
