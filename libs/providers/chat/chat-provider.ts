import type { Readable } from 'node:stream';
import type { ProviderEntry, ProviderKey } from '../provider-entry.js';

/** One chat completion, as it goes to a provider. */
export interface ChatCall {
  /** The JSON body, in pieces that follow each other. */
  readonly body: readonly Buffer[];
  /** What the body says, for who answers itself. Throws AppError when that is too much to be read at once. */
  readonly value: () => unknown;
  readonly key: ProviderKey | undefined;
  /** Whether the caller asked for server-sent events. */
  readonly streamed: boolean;
  /** How long the provider may take until its headers, in ms. */
  readonly firstByteMs: number;
  /** Aborted when the caller is gone or the time is over. */
  readonly signal: AbortSignal;
}

/** What a provider answered, whatever the status. Its body must be read or destroyed. */
export interface ChatAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
}

/** The call never reached the provider, so nothing can have been generated for it. */
export class ChatNotSent extends Error {
  override readonly name = 'ChatNotSent';
}

/** A protocol of chat. It only carries: it never retries, and never looks into a body that it passes on. */
export interface ChatProvider {
  /**
   * Answers once the headers are there. Throws ChatNotSent, the signal's reason when aborted, or the connection's
   * error, after which it is unknown what the provider has done.
   */
  call(provider: ProviderEntry, call: ChatCall): Promise<ChatAnswer>;
  close(): Promise<void>;
}
