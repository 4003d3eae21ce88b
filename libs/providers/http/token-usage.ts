import type { ImageUsage } from '#contract/image-usage.js';

/**
 * Converts token usage to OpenAI's format; `read` returns the value of a name such as
 * `input_tokens_details.text_tokens`. Undefined unless all three totals exist.
 */
export function tokenUsage(read: (name: string) => unknown): ImageUsage | undefined {
  const count = (name: string): number | undefined => {
    const value = read(name);
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  };
  const details = (side: string): { text_tokens: number; image_tokens: number } | undefined => {
    const text = count(`${side}_tokens_details.text_tokens`);
    const image = count(`${side}_tokens_details.image_tokens`);
    return text === undefined || image === undefined ? undefined : { text_tokens: text, image_tokens: image };
  };
  const input = count('input_tokens');
  const output = count('output_tokens');
  const total = count('total_tokens');
  if (input === undefined || output === undefined || total === undefined) return undefined;
  const inputDetails = details('input');
  const outputDetails = details('output');
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: total,
    ...(inputDetails === undefined ? {} : { input_tokens_details: inputDetails }),
    ...(outputDetails === undefined ? {} : { output_tokens_details: outputDetails }),
  };
}
