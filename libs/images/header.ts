import { joined } from '#bytes/bytes.js';
import type { ImagePixels } from './file-parts.js';
import { FileStructure } from './file-structure.js';
import { ImageError } from './image-error.js';
import { MAX_IMAGE_EDGE, MAX_IMAGE_PIXELS, imageTooLarge } from './limits.js';
import { withImageSlot, openImage } from './sharp.js';
import { sniffImageType, sniffInputType, unsupportedText, type ImageType, type InputType } from './sniff.js';

/** What an image file declares before any pixel is decoded. */
interface ImageHeader<Type extends InputType = ImageType> {
  readonly type: Type;
  /** In pixels, after applying the orientation. */
  readonly width: number;
  readonly height: number;
  readonly hasAlpha: boolean;
  /** Whether the file has an orientation that rotates or mirrors it. */
  readonly needsRotation: boolean;
  /** Whether its colors are neither RGB nor gray (for example CMYK). */
  readonly needsRgbConversion: boolean;
  /** Whether it has more than one frame; width and height are those of one frame. */
  readonly isAnimated: boolean;
}

/** The header of a caller's image. */
export type InputHeader = ImageHeader<InputType>;

/** An image file whose structure was checked, and what it declares. */
export interface OpenedImage<Type extends InputType = ImageType> {
  readonly file: FileStructure;
  readonly header: ImageHeader<Type>;
}

/**
 * Opens a caller's image: checks its type, structure, frames, and pixel count, without decoding it. Throws ImageError
 * (unsupported_image_media_type, invalid_image_file, image_too_large), or the signal's reason.
 */
export async function openInput(bytes: Buffer, signal?: AbortSignal): Promise<OpenedImage<InputType>> {
  const type = sniffInputType(bytes);
  if (type === undefined)
    throw new ImageError('unsupported_image_media_type', `${unsupportedText(bytes, 'The image')}.`);
  return opened(bytes, type, { mayMove: false, signal });
}

/** Like `openInput` for a provider's image, which may also be a GIF, even an animated one. */
export async function openResult(bytes: Buffer): Promise<OpenedImage> {
  const type = sniffImageType(bytes);
  if (type === undefined) {
    throw new ImageError('unsupported_image_media_type', 'The image must be a PNG, JPEG, WebP or GIF file.');
  }
  return opened(bytes, type, { mayMove: type === 'gif', signal: undefined });
}

type StillHeader = Omit<ImageHeader, 'isAnimated' | 'type'>;

async function opened<Type extends InputType>(
  bytes: Buffer,
  type: Type,
  { mayMove, signal }: { readonly mayMove: boolean; readonly signal: AbortSignal | undefined },
): Promise<OpenedImage<Type>> {
  const file = await FileStructure.of(bytes, type);
  const { isAnimated, pixels } = file;
  if (isAnimated && !mayMove) {
    throw new ImageError('invalid_image_file', 'The image is animated. Only still images are accepted.');
  }
  const still = pixels === undefined ? await byDecoder(file, type, signal) : byStructure(pixels);
  const header = { type, ...still, isAnimated };
  if (Math.max(header.width, header.height) > MAX_IMAGE_EDGE) throw imageTooLarge();
  return { file, header };
}

/** Without a decoder: for a small image, reading its header takes one a third of the time of all its pixels. */
function byStructure(pixels: ImagePixels): StillHeader {
  if (pixels.width * pixels.height > MAX_IMAGE_PIXELS) throw imageTooLarge();
  return { ...pixels, needsRotation: false, needsRgbConversion: false };
}

async function byDecoder(file: FileStructure, type: InputType, signal: AbortSignal | undefined): Promise<StillHeader> {
  // Leave out large text and XMP, which the decoder would unpack and return as strings.
  const bytes = await joined(await file.readable());
  try {
    const found = await withImageSlot(() => openImage(bytes).metadata(), 0, signal);
    const format = found.compression === 'av1' ? 'avif' : found.format;
    if (format !== type) throw new Error(`the decoder took it for ${found.format}`);
    const turnedOnSide = (found.orientation ?? 1) >= 5;
    return {
      width: turnedOnSide ? found.height : found.width,
      height: turnedOnSide ? found.width : found.height,
      hasAlpha: found.hasAlpha,
      needsRotation: (found.orientation ?? 1) > 1,
      needsRgbConversion: !['srgb', 'rgb', 'rgb16', 'b-w', 'grey16'].includes(found.space),
    };
  } catch (cause) {
    signal?.throwIfAborted();
    // The decoder reports this limit only in its message.
    if (cause instanceof Error && cause.message.includes('exceeds pixel limit')) throw imageTooLarge();
    throw new ImageError('invalid_image_file', 'The image file is damaged: its header cannot be read.', cause);
  }
}
