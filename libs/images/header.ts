import { ImageError } from './image-error.js';
import { MAX_IMAGE_EDGE, MAX_IMAGE_PIXELS } from './limits.js';
import { pngChunks } from './png-chunks.js';
import { inTurn, openImage } from './sharp.js';
import { sniffImageType, type ImageType } from './sniff.js';
import { isAnimatedWebp } from './webp-chunks.js';

/** What an image file says of itself before any pixel is decoded. */
export interface ImageHeader {
  readonly type: ImageType;
  /** Pixels, as seen upright. */
  readonly width: number;
  readonly height: number;
  readonly hasAlpha: boolean;
  /** Whether the file asks to be turned or mirrored for viewing. */
  readonly isTurned: boolean;
  /** Whether its colours are not plain RGB or grey (CMYK and the like). */
  readonly isForeignColour: boolean;
}

/**
 * Reads the header and checks type, frames and pixel count; decodes nothing.
 * Throws ImageError (unsupported_image_media_type, invalid_image_file, image_too_large).
 */
export async function readHeader(bytes: Buffer): Promise<ImageHeader> {
  const type = sniffImageType(bytes);
  if (type === undefined) {
    throw new ImageError('unsupported_image_media_type', 'The image must be a PNG, JPEG or WebP file.');
  }
  if (isAnimated(bytes, type)) {
    throw new ImageError('invalid_image_file', 'The image is animated; only single pictures are accepted.');
  }
  const header = await declaredHeader(bytes, type);
  if (header.width * header.height > MAX_IMAGE_PIXELS || Math.max(header.width, header.height) > MAX_IMAGE_EDGE) {
    throw new ImageError(
      'image_too_large',
      `The image has ${header.width}x${header.height} pixels; at most ${MAX_IMAGE_PIXELS / 1e6} megapixels and ${MAX_IMAGE_EDGE} pixels per edge are accepted.`,
    );
  }
  return header;
}

function isAnimated(bytes: Buffer, type: ImageType): boolean {
  if (type === 'png') return pngChunks(bytes).some((chunk) => chunk.type === 'acTL');
  return type === 'webp' && isAnimatedWebp(bytes);
}

async function declaredHeader(bytes: Buffer, type: ImageType): Promise<ImageHeader> {
  try {
    // The limit is checked by the caller of this, who can name the size; reading a header allocates no pixels.
    const found = await inTurn(() => openImage(bytes, { limitInputPixels: false }).metadata());
    if (found.format !== type) throw new Error(`the decoder took it for ${found.format}`);
    const turnedOnSide = (found.orientation ?? 1) >= 5;
    return {
      type,
      width: turnedOnSide ? found.height : found.width,
      height: turnedOnSide ? found.width : found.height,
      hasAlpha: found.hasAlpha,
      isTurned: (found.orientation ?? 1) > 1,
      isForeignColour: !['srgb', 'rgb', 'rgb16', 'b-w', 'grey16'].includes(found.space),
    };
  } catch (cause) {
    throw new ImageError('invalid_image_file', 'The image file is damaged: its header cannot be read.', cause);
  }
}
