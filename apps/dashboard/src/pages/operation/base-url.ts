export const MISSING_PATH = 'Most OpenAI-compatible servers need /v1 at the end of the base URL.';

/** Whether a URL has no path. */
export function hasNoPath(url: string): boolean {
  return /^https?:\/\/[^/?#]+\/?$/.test(url.trim());
}
