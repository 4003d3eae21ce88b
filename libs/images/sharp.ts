import { availableParallelism } from 'node:os';
import sharp, { type Sharp } from 'sharp';
import { ImageError } from './image-error.js';
import { MAX_CODEC_SECONDS, MAX_IMAGE_PIXELS } from './limits.js';
import { sniffImageType } from './sniff.js';

// Whatever the bytes claim to be, only these four decoders can ever be reached, and GIF's by providers' bytes alone: callers'
// GIFs are refused by their first bytes (`header.ts`). The sandbox alone adds SVG, in
// `drawing.ts`, for text it wrote itself; callers' bytes enter through `openImage`, which no SVG passes.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['Png', 'Jpeg', 'Webp', 'Nsgif'].map((codec) => `VipsForeignLoad${codec}Buffer`),
});
sharp.cache(false);
// One thread per image: images run beside each other, as many as there are cores.
sharp.concurrency(1);

/** Pixels above which images are worked on one at a time: decoders may hold all of them, at eight bytes each. */
const LARGE_PIXELS = 16_777_216;

class Turns {
  private readonly waiting: (() => void)[] = [];

  constructor(private free: number) {}

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.free += 1;
      else next();
    }
  }
}

const all = new Turns(Math.max(1, Math.min(3, availableParallelism())));
const large = new Turns(1);

/**
 * Runs image work when one of this process's slots is free. There are as many as cores and never all four threads
 * of Node's pool, which also serve files and name look-ups. Of large images (64 megapixels may take half a gigabyte)
 * there is one at a time, so `pixels` is named wherever they are decoded.
 */
export async function inTurn<T>(work: () => Promise<T>, pixels = 0): Promise<T> {
  return pixels > LARGE_PIXELS ? large.run(() => all.run(work)) : all.run(work);
}

/**
 * Opens untrusted bytes for decoding, within the pixel and time limits; nothing is decoded yet.
 * Throws ImageError unless the first bytes are those of a png, jpeg, webp or gif. Of a gif's frames it is the first.
 */
export function openImage(bytes: Buffer): Sharp {
  if (sniffImageType(bytes) === undefined) {
    throw new ImageError('unsupported_image_media_type', 'The image must be a PNG, JPEG or WebP file.');
  }
  return sharp(bytes, { failOn: 'error', limitInputPixels: MAX_IMAGE_PIXELS }).timeout({
    seconds: MAX_CODEC_SECONDS,
  });
}

/** Opens pixels of our own: `width * height * channels` bytes, row by row. */
export function openPixels(pixels: Buffer, width: number, height: number, channels: 3 | 4): Sharp {
  return sharp(pixels, { raw: { width, height, channels } }).timeout({ seconds: MAX_CODEC_SECONDS });
}
