/** By what a request may be the repetition of another. */
export type RequestMark =
  /** The caller's own Idempotency-Key. */
  | { readonly kind: 'key'; readonly key: string }
  /**
   * A call of a client that may try again without saying so. `retry`: its tries before this one, as OpenAI's SDKs count
   * them in `x-stainless-retry-count`; 0 for clients that do not count (`counted` false).
   */
  | { readonly kind: 'attempt'; readonly retry: number; readonly counted: boolean };

/**
 * A mark with the SHA-256 of what was asked for: path and body, however they were spelled. Requests that count their
 * tries and those that do not have different ones.
 */
export type RequestIdentity = RequestMark & { readonly fingerprint: Buffer };
