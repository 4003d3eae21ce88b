import type { Sharp } from 'sharp';
import { encodeFrames } from '#images/encode.js';
import { withImageSlot } from '#images/sharp.js';
import { openLayer, render } from './layers.js';

/** OpenAI's defaults. */
const USUAL_FRAMES = 9;
const USUAL_FRAME_MS = 200;
/** Pixels of all frames, which are in memory at once: 64 MB. Encoding them takes 6 s of CPU time. */
const MAX_PIXELS = 16_000_000;

/** How a GIF moves; what is undefined is as usual. */
export interface Animation {
  readonly frameCount: number | undefined;
  readonly frameDurationMs: number | undefined;
}

/** An animated GIF of an image whose colors go around once, with fewer frames than asked for if these are too large. */
export async function animate(
  image: Sharp,
  { frameCount = USUAL_FRAMES, frameDurationMs = USUAL_FRAME_MS }: Animation,
  warnings: string[],
): Promise<Buffer> {
  const first = await render(image);
  const { width, height } = first;
  const count = Math.max(2, Math.min(frameCount, Math.floor(MAX_PIXELS / (width * height))));
  if (count < frameCount) warnings.push(`The sandbox drew ${count} of ${frameCount} frames, because they are large.`);
  const frames = [first.data];
  while (frames.length < count) {
    const hue = Math.round((360 * frames.length) / count);
    frames.push((await render(openLayer(first).modulate({ hue }))).data);
  }
  const delayMs = Math.max(10, Math.round(frameDurationMs / 10) * 10);
  return await withImageSlot(() => encodeFrames(frames, { width, height, delayMs }).toBuffer(), width * height * count);
}
