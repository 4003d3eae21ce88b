import type { ImageUsage, InputTokensDetails } from '#contract/image-usage.js';
import { valueAt } from './json-value.js';

/** No call uses more; a larger number is not a count. */
const MAX_TOKENS = 1_000_000_000;

/** Tokens of one side, input or output, as a server counted them. */
interface Side {
  /** Undefined if it is not known how many they are in all. */
  readonly tokens: number | undefined;
  /** The least that they are. */
  readonly parts: number;
  readonly details: unknown;
}

/**
 * Converts the `usage` and `svg_usage` of a response to OpenAI's format. Servers omit totals and details, or send some that
 * contradict each other or are no numbers; the result is never more precise than what was said, and no total is below its
 * parts. Undefined if the input or the output was not counted, or the count is 0.
 */
export function tokenUsage(said: unknown, svg?: unknown): ImageUsage | undefined {
  const input = sideOf(said, 'input', 'prompt');
  const output = sideOf(said, 'output', 'completion');
  const totals = totalsOf(said, input, output);
  if (totals === undefined || totals.total_tokens === 0) return undefined;
  const inputDetails = { ...kindsOf(input.details), ...cachedOf(input.details, totals.input_tokens) };
  const outputDetails = kindsOf(output.details);
  const svgTotals = totalsOf(svg, sideOf(svg, 'input'), sideOf(svg, 'output'));
  return {
    ...totals,
    ...(Object.keys(inputDetails).length > 0 && { input_tokens_details: inputDetails }),
    ...(Object.keys(outputDetails).length > 0 && { output_tokens_details: outputDetails }),
    ...(svgTotals && svgTotals.total_tokens > 0 && { svg_usage: svgTotals }),
  };
}

/** The usage of two images together, as each event of a stream reports its own. */
export function usageOfBoth(one: ImageUsage | undefined, other: ImageUsage | undefined): ImageUsage | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const sum = sumOf(one, other) as ImageUsage;
  return tokenUsage(sum, sum.svg_usage);
}

/** `chatSide` is what chats call the side. */
function sideOf(usage: unknown, side: 'input' | 'output', chatSide = side as string): Side {
  const details = valueAt(usage, `${side}_tokens_details`) ?? valueAt(usage, `${chatSide}_tokens_details`);
  const { text_tokens: text, image_tokens: image } = kindsOf(details);
  const parts = (text ?? 0) + (image ?? 0);
  const said = countAt(usage, `${side}_tokens`) ?? countAt(usage, `${chatSide}_tokens`);
  if (said !== undefined) return { tokens: Math.max(said, parts), parts, details };
  return { tokens: text === undefined || image === undefined ? undefined : parts, parts, details };
}

function totalsOf(usage: unknown, input: Side, output: Side) {
  const total = countAt(usage, 'total_tokens');
  let [read, written] = [input.tokens, output.tokens];
  if (read === undefined || written === undefined) {
    if (total === undefined || total < (read ?? written ?? 0)) return undefined;
    // Of one side that is known, the other is the rest; of two that are unknown, only the total is.
    const rest = read === undefined && written === undefined ? 0 : total - (read ?? written ?? 0);
    read ??= Math.max(rest, input.parts);
    written ??= Math.max(rest, output.parts);
  }
  return { input_tokens: read, output_tokens: written, total_tokens: Math.max(total ?? 0, read + written) };
}

function kindsOf(details: unknown): { text_tokens?: number; image_tokens?: number } {
  const text = countAt(details, 'text_tokens');
  const image = countAt(details, 'image_tokens');
  return { ...(text !== undefined && { text_tokens: text }), ...(image !== undefined && { image_tokens: image }) };
}

/** Nothing if more tokens than there are would be cached: then the server means something else by it. */
function cachedOf(
  details: unknown,
  tokens: number,
): Pick<InputTokensDetails, 'cached_tokens' | 'cached_tokens_details'> {
  const all = kindsOf(details);
  const { text_tokens: text = 0, image_tokens: image = 0 } = kindsOf(valueAt(details, 'cached_tokens_details'));
  const cached = countAt(details, 'cached_tokens') ?? text + image;
  if (cached === 0 || cached > tokens) return {};
  const isSplit = text + image === cached && text <= (all.text_tokens ?? 0) && image <= (all.image_tokens ?? 0);
  return {
    cached_tokens: cached,
    ...(isSplit && { cached_tokens_details: { text_tokens: text, image_tokens: image } }),
  };
}

/** The number of tokens at a name; some servers send digits as text. */
function countAt(value: unknown, name: string): number | undefined {
  const found = valueAt(value, name);
  const count = typeof found === 'string' && /^\d{1,10}$/.test(found) ? Number(found) : found;
  const isCount = typeof count === 'number' && Number.isInteger(count) && count >= 0 && count <= MAX_TOKENS;
  // JSON has a negative zero, too.
  return isCount ? count + 0 : undefined;
}

/** Adds the numbers of two values, name by name; a missing one is 0. */
function sumOf(one: unknown, other: unknown): unknown {
  if (typeof one === 'number' || typeof other === 'number') return Number(one ?? 0) + Number(other ?? 0);
  const names = [one, other].flatMap((value) => Object.keys(value ?? {}));
  return Object.fromEntries(names.map((name) => [name, sumOf(valueAt(one, name), valueAt(other, name))]));
}
