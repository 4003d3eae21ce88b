import { AsyncLocalStorage } from 'node:async_hooks';
import { availableParallelism } from 'node:os';
import sharp, { type Sharp } from 'sharp';
import { ImageError } from './image-error.js';
import { ImageTurns, type WorkOwner } from './image-turns.js';
import { MAX_CODEC_SECONDS, MAX_IMAGE_PIXELS } from './limits.js';
import { ACCEPTED_FORMATS, sniffInputType } from './sniff.js';

// Whatever the bytes claim to be, only these five decoders can run. That of HEIF is only for callers' AVIF, in a file
// that we wrote ourselves (`avif-boxes.ts`); it can decode nothing but AV1. Only the sandbox also enables SVG, in `drawing.ts`, for text that it
// wrote itself; callers' bytes go through `openImage`, which rejects SVG.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['Png', 'Jpeg', 'Webp', 'Nsgif', 'Heif'].map((codec) => `VipsForeignLoad${codec}Buffer`),
});
sharp.cache(false);
// One thread per image, because several images are processed in parallel.
sharp.concurrency(1);

const turns = new ImageTurns(Math.max(1, Math.min(3, availableParallelism())));
const owners = new AsyncLocalStorage<WorkOwner>();
const NOBODY: WorkOwner = { source: '', ticket: '' };

/** All image work of `action`, also in functions that it calls, takes the turns of this owner. */
export async function withImageTurnsOf<T>(owner: WorkOwner, action: () => Promise<T>): Promise<T> {
  return owners.run(owner, action);
}

/**
 * Runs image work when a slot of this process is free, in turns of the owners (`withImageTurnsOf`). There is a slot per
 * core, but at most three, because Node's pool of four threads also serves files and DNS lookups. Large images run one
 * at a time (64 megapixels may take half a gigabyte), so pass `pixels` wherever an image is decoded. An aborted `signal`
 * ends the wait with its reason; work that has begun goes on.
 */
export async function withImageSlot<T>(work: () => Promise<T>, pixels = 0, signal?: AbortSignal): Promise<T> {
  return turns.run(work, { owner: owners.getStore() ?? NOBODY, pixels, signal });
}

/**
 * Opens untrusted bytes for decoding, within the pixel and time limits; does not decode yet. Throws ImageError unless
 * the first bytes are those of a png, jpeg, webp, gif, or avif. Of a gif, it opens the first frame.
 */
export function openImage(bytes: Buffer): Sharp {
  if (sniffInputType(bytes) === undefined) {
    throw new ImageError('unsupported_image_media_type', `The image must be a ${ACCEPTED_FORMATS} file.`);
  }
  return sharp(bytes, { failOn: 'error', limitInputPixels: MAX_IMAGE_PIXELS }).timeout({
    seconds: MAX_CODEC_SECONDS,
  });
}

/** Opens raw RGBA frames that this program created, all of the same size, as the pages of one image. */
export function openFrames(frames: readonly Buffer[], width: number, height: number): Sharp {
  const raw = { width, height: height * frames.length, channels: 4, pageHeight: height } as const;
  return sharp(Buffer.concat(frames), { raw }).timeout({ seconds: MAX_CODEC_SECONDS });
}

/** Opens raw pixels that this program created: `width * height * channels` bytes, row by row. */
export function openPixels(pixels: Buffer, width: number, height: number, channels: 3 | 4): Sharp {
  return sharp(pixels, { raw: { width, height, channels } }).timeout({ seconds: MAX_CODEC_SECONDS });
}
