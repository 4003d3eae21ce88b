import { checkDecodes, undecodable } from './decode-check.js';
import { encodeAs } from './encode.js';
import { readHeader, type ImageHeader } from './header.js';
import { ImageError } from './image-error.js';
import { MAX_MASK_BYTES, MAX_UPLOAD_BYTES, assertInputPixels, assertPixelsPerByte } from './limits.js';
import { withImageSlot, openImage } from './sharp.js';
import { contentTypeOf, sniffImageType, type InputContentType } from './sniff.js';
import { stripMetadata } from './strip-metadata.js';

/** A fully decoded and checked image, upright and without metadata. */
export interface InputImage {
  readonly bytes: Buffer;
  readonly contentType: InputContentType;
  readonly width: number;
  readonly height: number;
  readonly hasAlpha: boolean;
}

/** 0..100; an input that must be re-encoded should lose nothing visible. */
const INPUT_QUALITY = 95;

/** Called with an image's pixels before any is decoded; may throw. */
type PixelCheck = (pixels: number) => void;

/**
 * Checks a caller's image and makes it safe to pass on.
 * Throws ImageError (unsupported_image_media_type, invalid_image_file, image_file_too_large, image_too_large,
 * image_too_small), or the signal's reason.
 */
export async function readInputImage(bytes: Buffer, signal?: AbortSignal, check?: PixelCheck): Promise<InputImage> {
  if (bytes.length > MAX_UPLOAD_BYTES) {
    throw new ImageError('image_file_too_large', `The image file is larger than ${MAX_UPLOAD_BYTES / 1e6} MB.`);
  }
  const header = await readHeader(bytes, signal);
  assertInputPixels(header.width, header.height);
  assertPixelsPerByte(header.width * header.height, bytes.length);
  check?.(header.width * header.height);
  const clean =
    header.needsRotation || header.needsRgbConversion
      ? await redraw(bytes, header, signal)
      : await keepPixels(bytes, header, signal);
  const { width, height, hasAlpha } = header;
  return { bytes: clean, contentType: contentTypeOf(header.type), width, height, hasAlpha };
}

/**
 * Checks a mask: a PNG with alpha and the pixel size of the first image, where alpha 0 means "edit here".
 * Throws ImageError (invalid_mask with the reason, image_file_too_large), or the signal's reason.
 */
export async function readMask(
  bytes: Buffer,
  firstImage: { width: number; height: number },
  signal?: AbortSignal,
  check?: PixelCheck,
): Promise<InputImage> {
  if (bytes.length > MAX_MASK_BYTES) {
    throw new ImageError('image_file_too_large', `The mask file is larger than ${MAX_MASK_BYTES / 1e6} MB.`);
  }
  if (sniffImageType(bytes) !== 'png') throw new ImageError('invalid_mask', 'The mask must be a PNG file.');
  try {
    const header = await readHeader(bytes, signal);
    checkMaskFits(header, firstImage);
    check?.(header.width * header.height);
    const { width, height, hasAlpha } = header;
    return { bytes: await keepPixels(bytes, header, signal), contentType: 'image/png', width, height, hasAlpha };
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    throw new ImageError('invalid_mask', error.message.replace('The image', 'The mask'), error.cause);
  }
}

function checkMaskFits(header: ImageHeader, firstImage: { width: number; height: number }): void {
  if (header.width !== firstImage.width || header.height !== firstImage.height) {
    throw new ImageError(
      'invalid_mask',
      `The mask has ${header.width}x${header.height} pixels, but the first image has ${firstImage.width}x${firstImage.height}; they must match.`,
    );
  }
  if (!header.hasAlpha) {
    throw new ImageError('invalid_mask', 'The mask has no alpha channel; transparent pixels mark the area to edit.');
  }
}

async function keepPixels(bytes: Buffer, header: ImageHeader, signal: AbortSignal | undefined): Promise<Buffer> {
  const clean = await stripMetadata(bytes, header.type);
  await checkDecodes(clean, header, signal);
  return clean;
}

async function redraw(bytes: Buffer, header: ImageHeader, signal: AbortSignal | undefined): Promise<Buffer> {
  try {
    const pixels = header.width * header.height;
    return await withImageSlot(
      () => encodeAs(openImage(bytes).autoOrient(), header.type, INPUT_QUALITY).toBuffer(),
      pixels,
      signal,
    );
  } catch (cause) {
    signal?.throwIfAborted();
    throw undecodable(cause);
  }
}
