/** What `response_format` may name. */
export const RESPONSE_FORMATS = ['url', 'b64_json'] as const;
export type ResponseFormat = (typeof RESPONSE_FORMATS)[number];
/** What a request that names no `response_format` can be answered with. */
export const DEFAULT_RESPONSE_FORMATS = ['both', ...RESPONSE_FORMATS] as const;
export type DefaultResponseFormat = (typeof DEFAULT_RESPONSE_FORMATS)[number];
