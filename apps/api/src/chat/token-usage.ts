import { jsonMembers, valueAt } from './json-members.js';

/** What a provider counted; null where it said nothing. */
export interface TokenUsage {
  readonly input: number | null;
  readonly output: number | null;
  /** Of the input, what the provider had in its cache. */
  readonly cached: number | null;
}

/** Usage in OpenAI's shape; undefined when it is none. */
export function tokenUsage(value: unknown): TokenUsage | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const usage = value as Record<string, unknown>;
  const details = usage['prompt_tokens_details'] as Record<string, unknown> | null | undefined;
  return {
    input: count(usage['prompt_tokens']),
    output: count(usage['completion_tokens']),
    cached: count(details?.['cached_tokens']),
  };
}

/** The usage of a completion that came in one piece; undefined when there is none or it can't be read. */
export function usageOfCompletion(bytes: Buffer): TokenUsage | undefined {
  try {
    const span = jsonMembers(bytes).get('usage');
    return span && tokenUsage(valueAt(bytes, span));
  } catch {
    return undefined;
  }
}

const MAX_COUNT = 2_147_483_647;

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT ? value : null;
}
