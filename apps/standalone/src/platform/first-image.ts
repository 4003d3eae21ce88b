import { rename, writeFile } from 'node:fs/promises';
import { timeLimit } from '#egress/time-limit.js';

const PROMPT = 'A lighthouse at dawn, soft pink clouds over a quiet sea';
const TIMEOUT_MS = 120_000;
/** Default edge length of an image, in pixels. */
const EDGE = 2048;

/**
 * Generates an image with the sandbox in this process, and returns its size. It orders nothing, because any provider of
 * the catalog may charge for an order.
 */
export async function drawFirstImage(file: string, signal: AbortSignal): Promise<string> {
  const { drawImage } = await import('#providers/sandbox/draw-image.js');
  const nothing = { images: [], mask: undefined, quality: undefined, background: undefined, moderation: undefined };
  const wanted = { inputFidelity: undefined, outputFormat: 'png', outputCompression: undefined } as const;
  const { bytes } = await drawImage(
    {
      action: 'generation',
      model: 'gpt-image-2',
      prompt: PROMPT,
      width: EDGE,
      height: EDGE,
      ...nothing,
      ...wanted,
      n: 1,
      user: undefined,
      partialImages: 0,
    },
    PROMPT,
    timeLimit(TIMEOUT_MS, signal),
  );
  await writeFile(`${file}.new`, bytes, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return `${EDGE}x${EDGE}`;
}
