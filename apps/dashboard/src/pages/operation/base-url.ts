export const MISSING_PATH = 'Most OpenAI-compatible servers need /v1 at the end of the base URL.';

/** Whether an address has nothing after its host. */
export function hasNoPath(url: string): boolean {
  return /^https?:\/\/[^/?#]+\/?$/.test(url.trim());
}
