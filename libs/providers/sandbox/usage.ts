import type { ImageUsage } from '#contract/image-usage.js';
import type { ProviderImageRequest } from '../image-provider.js';

/** Tokens of a 1024 x 1024 image, by quality. */
const OUTPUT_TOKENS: Readonly<Record<string, number>> = { low: 260, medium: 1040, high: 4160 };
const TOKENS_PER_INPUT_MEGAPIXEL = 780;
const CHARACTERS_PER_TOKEN = 4;

/** The usage that a vendor would report; the same for the same request. */
export function countUsage(
  request: ProviderImageRequest,
  prompt: string,
  size: { width: number; height: number },
): ImageUsage {
  const inputs = request.mask === undefined ? request.images : [...request.images, request.mask];
  const text = Math.ceil(Array.from(prompt).length / CHARACTERS_PER_TOKEN) + 6;
  const image = inputs.reduce(
    (sum, { width, height }) => sum + Math.ceil((width * height * TOKENS_PER_INPUT_MEGAPIXEL) / 1e6),
    0,
  );
  const perSquare = OUTPUT_TOKENS[request.quality ?? 'medium'] ?? 1040;
  const output = request.n * Math.ceil((perSquare * size.width * size.height) / (1024 * 1024));
  return {
    input_tokens: text + image,
    output_tokens: output,
    total_tokens: text + image + output,
    input_tokens_details: { text_tokens: text, image_tokens: image },
    output_tokens_details: { text_tokens: 0, image_tokens: output },
  };
}
