import { ImageError } from './image-error.js';
import { MAX_UPLOAD_BYTES } from './limits.js';
import { FORMAT_NAMES, type ConvertedType } from './sniff.js';

/** Most bytes of a pixel in a PNG: four channels of 8 bits; rows add less than a thousandth. */
const PNG_BYTES_PER_PIXEL = 4;

/** What a task's `warnings` say of an image that was converted; `param` is its request field. */
export function conversionText(param: string, type: ConvertedType): string {
  return `${param} was converted from ${FORMAT_NAMES[type]} to PNG.`;
}

/** The error for such an image in a strict request, in which nothing is adapted. */
export function notConverted(type: ConvertedType): ImageError {
  const text = `The image is ${type === 'avif' ? 'an' : 'a'} ${FORMAT_NAMES[type]}, which would be converted to PNG. With strict: true, nothing is adapted or ignored: send a PNG, JPEG or WebP image, or omit strict.`;
  return new ImageError('unsupported_image_media_type', text);
}

/** Most bytes of such an image after its conversion; a larger one is refused. */
export function mostPngBytes(pixels: number): number {
  return Math.min(MAX_UPLOAD_BYTES, PNG_BYTES_PER_PIXEL * pixels);
}
