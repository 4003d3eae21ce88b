/** By what a request says that it may be the repetition of another. */
export type RequestMark =
  /** The caller's own Idempotency-Key. */
  | { readonly kind: 'key'; readonly key: string }
  /** How many tries of the same call a client has made before this one. */
  | { readonly kind: 'attempt'; readonly retry: number };

/** A mark with the SHA-256 of what was asked for: path and body, however they were spelled. */
export type RequestIdentity = RequestMark & { readonly fingerprint: Buffer };
