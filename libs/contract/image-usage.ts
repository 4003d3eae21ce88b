/**
 * Token usage of a request's images, in OpenAI's format; present only if the provider reported it. Tokens that no detail
 * names are of an unknown kind: the details may add up to less than their total, and input and output to less than
 * `total_tokens`, but never to more.
 */
export interface ImageUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  readonly input_tokens_details?: InputTokensDetails;
  readonly output_tokens_details?: TokensDetails;
  /** What the author of an SVG used; not part of the totals. */
  readonly svg_usage?: Readonly<Record<'input_tokens' | 'output_tokens' | 'total_tokens', number>>;
}

/** Tokens by kind. A kind that the provider did not mention is absent. */
interface TokensDetails {
  readonly text_tokens?: number;
  readonly image_tokens?: number;
}

/** Input by kind. Cached tokens are part of the other two. */
export interface InputTokensDetails extends TokensDetails {
  readonly cached_tokens?: number;
  /** They add up to `cached_tokens`. */
  readonly cached_tokens_details?: Required<TokensDetails>;
}
