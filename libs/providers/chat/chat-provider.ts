import type { Readable } from 'node:stream';
import type { ProviderEntry, ProviderKey } from '../provider-entry.js';

/** One chat to send to a provider, or a call about a response that it stores. */
export interface ChatCall {
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** Below the provider's base URL, such as `/chat/completions`. */
  readonly path: string;
  /** The JSON body, in consecutive pieces; none for a call without a body. */
  readonly body: readonly Buffer[];
  /**
   * The parsed body, for providers that generate responses themselves. Throws AppError when it is too large to parse at
   * once.
   */
  readonly value: () => unknown;
  readonly key: ProviderKey | undefined;
  /** Whether the caller requested server-sent events. */
  readonly streamed: boolean;
  /** How long the provider may take until its response headers, in ms. */
  readonly firstByteMs: number;
  /** Aborted when the caller disconnects or the time limit is reached. */
  readonly signal: AbortSignal;
}

/** A provider's response, with any status. Its body must be read or destroyed. */
export interface ChatResponse {
  readonly status: number;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
  /** The credentials that were sent, which a provider may quote; absent: none. */
  readonly credentials?: readonly string[];
}

/** The call never reached the provider, so nothing was generated. */
export class ChatNotSent extends Error {
  override readonly name = 'ChatNotSent';
}

/** A chat protocol. It only transports: it never retries, and never reads a body that it passes on. */
export interface ChatProvider {
  /**
   * Returns as soon as the response headers arrive. Throws ChatNotSent, the signal's reason when aborted, or the
   * connection's error; after the latter, the outcome is unknown.
   */
  call(provider: ProviderEntry, call: ChatCall): Promise<ChatResponse>;
  close(): Promise<void>;
}
