/** What marks a request as a possible repetition of an earlier one. */
export type RequestMark =
  /** The caller's own Idempotency-Key. */
  | { readonly kind: 'keyed'; readonly key: string }
  /**
   * No key: its client may retry the call silently. `retry`: the tries before this one, as OpenAI's SDKs count them in
   * `x-stainless-retry-count`; 0 for clients that do not count (`counted` false).
   */
  | { readonly kind: 'unkeyed'; readonly retry: number; readonly counted: boolean };

/**
 * A mark with the SHA-256 of the normalized path and body. Requests that count their tries and those that do not have
 * different fingerprints.
 */
export type RequestIdentity = RequestMark & { readonly fingerprint: Buffer };
