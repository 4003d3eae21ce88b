import { stripJpeg } from './jpeg-segments.js';
import { stripPng } from './png-chunks.js';
import type { ImageType } from './sniff.js';
import { stripWebp } from './webp-chunks.js';

const strippers: Record<ImageType, (bytes: Buffer) => Buffer> = { png: stripPng, jpeg: stripJpeg, webp: stripWebp };

/**
 * Copies an image without EXIF, XMP, comments, text and trailing bytes; its pixels and colour profile stay as they
 * are, nothing is encoded again. Throws ImageError when the file's structure is damaged.
 */
export function stripMetadata(bytes: Buffer, type: ImageType): Buffer {
  return strippers[type](bytes);
}
