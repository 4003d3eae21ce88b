import { jsonMembers, valueAt } from './json-members.js';

/** The tokens that a provider reported; null where it reported none. */
export interface TokenUsage {
  readonly input: number | null;
  readonly output: number | null;
  /** Input tokens that came from the provider's cache. */
  readonly cached: number | null;
}

/** Parses usage of OpenAI's chat completions or Responses; undefined when it is something else. */
export function tokenUsage(value: unknown): TokenUsage | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const usage = value as Record<string, unknown>;
  const details = (usage['prompt_tokens_details'] ?? usage['input_tokens_details']) as
    Record<string, unknown> | null | undefined;
  return {
    input: count(usage['prompt_tokens'] ?? usage['input_tokens']),
    output: count(usage['completion_tokens'] ?? usage['output_tokens']),
    cached: count(details?.['cached_tokens']),
  };
}

/** The usage in a response that is not streamed; undefined when it is missing or can't be parsed. */
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
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT;
  // JSON has a negative zero, too.
  return isCount ? value + 0 : null;
}
