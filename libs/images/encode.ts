import type { Sharp } from 'sharp';
import { openFrames } from './sharp.js';
import type { ImageType } from './sniff.js';

const PNG_LEVEL = 6;
const DEFAULT_JPEG_QUALITY = 90;
const DEFAULT_WEBP_QUALITY = 85;
/** 1 encodes three times as fast as the default 4, with files about 4 % larger (35 instead of 107 ms at 1024x1024). */
const WEBP_EFFORT = 1;
/** 1 encodes noise of 2048x2048 pixels in 3 s, the default 7 in 24 s; files are no larger. */
const GIF_EFFORT = 1;
/** For drawings, which have few colors: no dithering, which takes half as long again and can leave spots of a wrong color. */
const DRAWN = { effort: GIF_EFFORT, dither: 0 };

/** Like `encodeAs` with png, for pixels of a photo: half as large, and slower by a quarter. */
export function encodePhoto(pipeline: Sharp): Sharp {
  return pipeline.png({ compressionLevel: PNG_LEVEL, adaptiveFiltering: true });
}

/** Sets a pipeline's output: sRGB without metadata. `compression` is 0..100, the quality of jpeg and webp. */
export function encodeAs(pipeline: Sharp, type: ImageType, compression: number | undefined): Sharp {
  if (type === 'png') return pipeline.png({ compressionLevel: PNG_LEVEL });
  if (type === 'gif') return pipeline.gif({ effort: GIF_EFFORT });
  if (type === 'webp')
    return pipeline.webp({ quality: atLeastOne(compression ?? DEFAULT_WEBP_QUALITY), effort: WEBP_EFFORT });
  return pipeline.jpeg({
    quality: atLeastOne(compression ?? DEFAULT_JPEG_QUALITY),
    chromaSubsampling: (compression ?? DEFAULT_JPEG_QUALITY) >= 90 ? '4:4:4' : '4:2:0',
  });
}

/** An animated GIF that repeats; frames are raw RGBA of one size, of a drawing. */
export function encodeFrames(
  frames: readonly Buffer[],
  { width, height, delayMs }: { readonly width: number; readonly height: number; readonly delayMs: number },
): Sharp {
  return openFrames(frames, width, height).gif({ ...DRAWN, delay: frames.map(() => delayMs), loop: 0 });
}

/** The contract's range starts at 0, the encoders' at 1. */
function atLeastOne(quality: number): number {
  return Math.max(1, quality);
}
