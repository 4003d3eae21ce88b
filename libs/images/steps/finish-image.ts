import { sha256Of } from '#bytes/slices.js';
import { readHeader } from '../header.js';
import { ImageError } from '../image-error.js';
import { MAX_IMAGE_BYTES } from '../limits.js';
import { contentTypeOf, type ImageContentType, type ImageType } from '../sniff.js';
import { encode } from './encode.js';
import { fit } from './fit.js';
import { flatten } from './flatten.js';
import type { FinishOrder, ImageInWork, Step } from './step.js';
import { strip } from './strip.js';
import { upright } from './upright.js';

/** An image as it is stored and served; every figure is measured from its bytes. */
export interface FinishedImage {
  readonly bytes: Buffer;
  readonly contentType: ImageContentType;
  readonly format: ImageType;
  readonly width: number;
  readonly height: number;
  /** Hex digest of the bytes. */
  readonly sha256: string;
  /** As the provider sent it, upright. */
  readonly received: { readonly width: number; readonly height: number; readonly format: ImageType };
}

const STEPS: readonly Step[] = [upright, fit, flatten, encode, strip];

/**
 * Makes a provider's image exactly what was ordered. One that already is keeps its pixels and encoding.
 * Throws ImageError (upstream_invalid_response) when the bytes are no usable image, or the signal's reason.
 */
export async function finishImage(bytes: Buffer, order: FinishOrder, signal: AbortSignal): Promise<FinishedImage> {
  signal.throwIfAborted();
  try {
    let picture: ImageInWork = await inspect(bytes);
    const { width, height, type } = picture.header;
    for (const step of STEPS) {
      signal.throwIfAborted();
      picture = await step.run(picture, order);
    }
    signal.throwIfAborted();
    return { ...(await measure(picture)), received: { width, height, format: type } };
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    throw new ImageError('upstream_invalid_response', 'The provider did not return a usable image.', error);
  }
}

async function inspect(bytes: Buffer): Promise<ImageInWork> {
  if (bytes.length > MAX_IMAGE_BYTES) throw new ImageError('image_file_too_large', 'The image file is too large.');
  return { bytes, header: await readHeader(bytes), changes: undefined };
}

/** The header was read from these very pixels; cleaning the file of metadata changes none of them. */
async function measure({ bytes, header }: ImageInWork): Promise<Omit<FinishedImage, 'received'>> {
  const { type, width, height } = header;
  return { bytes, contentType: contentTypeOf(type), format: type, width, height, sha256: await sha256Of(bytes) };
}
