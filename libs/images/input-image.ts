import type { Sharp } from 'sharp';
import { joined } from '#bytes/bytes.js';
import { checkDecodes, undecodable } from './decode-check.js';
import { encodeAs, encodePhoto } from './encode.js';
import { openInput, type InputHeader, type OpenedImage } from './header.js';
import { ImageError } from './image-error.js';
import { MAX_MASK_BYTES, MAX_UPLOAD_BYTES, assertInputPixels, assertPixelsPerByte, decodingCost } from './limits.js';
import { withImageSlot, openImage } from './sharp.js';
import {
  contentTypeOf,
  FORMAT_NAMES,
  isConverted,
  sniffImageType,
  type ConvertedType,
  type InputType,
  type SentContentType,
} from './sniff.js';

/** A checked image, upright and without metadata, in a format that providers accept. */
export interface InputImage {
  readonly bytes: Buffer;
  readonly contentType: SentContentType;
  readonly width: number;
  readonly height: number;
  readonly hasAlpha: boolean;
  /** The format of the caller's file, if it was converted. */
  readonly convertedFrom?: ConvertedType;
}

/** 0..100; an input that must be re-encoded should lose nothing visible. */
const INPUT_QUALITY = 95;

/** Called with an image's pixels and format before any pixel is decoded; may throw. */
type PixelCheck = (pixels: number, type: InputType) => void;

/**
 * Checks a caller's image and makes it safe to pass on; an AVIF or GIF becomes a PNG.
 * Throws ImageError (unsupported_image_media_type, invalid_image_file, image_file_too_large, image_too_large,
 * image_too_small), or the signal's reason.
 */
export async function readInputImage(bytes: Buffer, signal?: AbortSignal, check?: PixelCheck): Promise<InputImage> {
  if (bytes.length > MAX_UPLOAD_BYTES) {
    throw new ImageError('image_file_too_large', `The image file is larger than ${MAX_UPLOAD_BYTES / 1e6} MB.`);
  }
  const image = await openInput(bytes, signal);
  const { type, width, height, hasAlpha } = image.header;
  assertInputPixels(width, height, type);
  assertPixelsPerByte(width * height, bytes.length);
  check?.(width * height, type);
  if (isConverted(type)) {
    const png = await asPng(image, signal);
    return { bytes: png, contentType: 'image/png', width, height, hasAlpha, convertedFrom: type };
  }
  const isRedrawn = image.header.needsRotation || image.header.needsRgbConversion;
  const clean = isRedrawn ? await redraw(bytes, image.header, signal) : await keepPixels(image, signal);
  return { bytes: clean, contentType: contentTypeOf(type), width, height, hasAlpha };
}

/**
 * Checks a mask: a PNG with alpha and the pixel size of the first image, where alpha 0 means "edit here".
 * Throws ImageError (invalid_mask with the reason, image_file_too_large), or the signal's reason.
 */
export function readMask(
  bytes: Buffer,
  firstImage: FirstImage,
  signal?: AbortSignal,
  check?: PixelCheck,
): Promise<InputImage> {
  return readOverlay(MASK, bytes, firstImage, signal, check);
}

/** Checks markup like a mask; throws ImageError `invalid_image_file` where a mask is an `invalid_mask`. */
export function readMarkup(
  bytes: Buffer,
  firstImage: FirstImage,
  signal?: AbortSignal,
  check?: PixelCheck,
): Promise<InputImage> {
  return readOverlay(MARKUP, bytes, firstImage, signal, check);
}

interface FirstImage {
  readonly width: number;
  readonly height: number;
}

const MASK = { name: 'mask', code: 'invalid_mask', purpose: 'transparent pixels mark the area to edit' } as const;
const MARKUP = {
  name: 'markup',
  code: 'invalid_image_file',
  purpose: 'the first image must be visible through it',
} as const;

type OverlayKind = typeof MASK | typeof MARKUP;

async function readOverlay(
  kind: OverlayKind,
  bytes: Buffer,
  firstImage: FirstImage,
  signal: AbortSignal | undefined,
  check: PixelCheck | undefined,
): Promise<InputImage> {
  const { name, code } = kind;
  if (bytes.length > MAX_MASK_BYTES) {
    throw new ImageError('image_file_too_large', `The ${name} file is larger than ${MAX_MASK_BYTES / 1e6} MB.`);
  }
  if (sniffImageType(bytes) !== 'png') throw new ImageError(code, `The ${name} must be a PNG file.`);
  try {
    const image = await openInput(bytes, signal);
    const { header } = image;
    checkFits(kind, header, firstImage);
    check?.(header.width * header.height, header.type);
    const { width, height, hasAlpha } = header;
    const clean = await keepPixels(image, signal);
    return { bytes: clean, contentType: 'image/png', width, height, hasAlpha };
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    throw new ImageError(code, error.message.replace('The image', `The ${name}`), error.cause);
  }
}

function checkFits({ name, code, purpose }: OverlayKind, header: InputHeader, firstImage: FirstImage): void {
  if (header.width !== firstImage.width || header.height !== firstImage.height) {
    throw new ImageError(
      code,
      `The ${name} has ${header.width}x${header.height} pixels, but the first image has ${firstImage.width}x${firstImage.height}; they must match.`,
    );
  }
  if (!header.hasAlpha) throw new ImageError(code, `The ${name} has no alpha channel; ${purpose}.`);
}

async function keepPixels(image: OpenedImage<InputType>, signal: AbortSignal | undefined): Promise<Buffer> {
  await checkDecodes(image, signal);
  return joined(await image.file.image());
}

/** Converts an image of a format that providers do not accept. */
async function asPng({ file, header }: OpenedImage<InputType>, signal: AbortSignal | undefined): Promise<Buffer> {
  const plain = await joined(await file.image());
  const png = await redraw(plain, header, signal);
  if (png.length <= MAX_UPLOAD_BYTES) return png;
  throw new ImageError(
    'image_file_too_large',
    `The ${FORMAT_NAMES[header.type]} image would have ${(png.length / 1e6).toFixed(1)} MB as a PNG; at most ${MAX_UPLOAD_BYTES / 1e6} MB are accepted.`,
  );
}

async function redraw(bytes: Buffer, header: InputHeader, signal: AbortSignal | undefined): Promise<Buffer> {
  const { type, width, height } = header;
  try {
    return await withImageSlot(
      () => redrawn(openImage(bytes).autoOrient(), type).toBuffer(),
      decodingCost(width * height, type),
      signal,
    );
  } catch (cause) {
    signal?.throwIfAborted();
    throw undecodable(cause);
  }
}

function redrawn(image: Sharp, type: InputType): Sharp {
  // Without this, colors of 16 bits stay in a profile that the file then no longer has.
  const pipeline = image.withIccProfile('srgb', { attach: false });
  if (type === 'avif') return encodePhoto(pipeline);
  return encodeAs(pipeline, isConverted(type) ? 'png' : type, INPUT_QUALITY);
}
