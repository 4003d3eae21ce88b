import { lengthOf, sha256Of } from '#bytes/bytes.js';
import { openResult } from '../header.js';
import { ImageError } from '../image-error.js';
import { MAX_IMAGE_BYTES } from '../limits.js';
import { contentTypeOf, type ImageContentType, type ImageType } from '../sniff.js';
import { safeSvg } from '../svg.js';
import { decode } from './decode.js';
import { encode } from './encode.js';
import { fit } from './fit.js';
import { flatten } from './flatten.js';
import { provenance } from './provenance.js';
import type { FinishOrder, ImageInWork, Provenance, Step } from './step.js';
import { upright } from './upright.js';

interface Received {
  readonly width: number;
  readonly height: number;
  readonly format: ImageType | 'svg';
  readonly isAnimated: boolean;
}

/** What is ordered, of pixels or as an SVG document. */
export type ImageOrder = Omit<FinishOrder, 'format'> & { readonly format: FinishOrder['format'] | 'svg' };

/** An image as it is stored and served; all values are measured from its file. */
export interface FinishedImage {
  /** The file, in pieces that are not copied before it is stored. */
  readonly pieces: readonly Buffer[];
  /** Bytes of all pieces. */
  readonly size: number;
  readonly contentType: ImageContentType | 'image/svg+xml';
  readonly format: ImageType | 'svg';
  readonly width: number;
  readonly height: number;
  /** Digest of the file, in hex. */
  readonly sha256: string;
  readonly provenance: Provenance;
  readonly isAnimated: boolean;
  /** Whether parts were left out of an SVG document that could run scripts or load files. */
  readonly isReduced?: boolean;
  /** The provider's image, after applying the orientation. */
  readonly received: Received;
}

const STEPS: readonly Step[] = [upright, fit, flatten, encode, decode, provenance];

/**
 * Makes a provider's image exactly what was ordered. If it already matches, it keeps its pixels, its encoding, and the
 * metadata about its origin. Throws ImageError (upstream_invalid_response) when the bytes are not a usable image, or
 * the signal's reason.
 */
export async function finishImage(bytes: Buffer, order: ImageOrder, signal: AbortSignal): Promise<FinishedImage> {
  signal.throwIfAborted();
  try {
    const { format } = order;
    return format === 'svg' ? await finishSvg(bytes, order) : await finishPixels(bytes, { ...order, format }, signal);
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    throw new ImageError('upstream_invalid_response', 'The provider did not return a usable image.', error);
  }
}

/** A drawing states no origin: readers of SVG know no common place for it. */
async function finishSvg(bytes: Buffer, { target }: ImageOrder): Promise<FinishedImage> {
  const { bytes: safe, width, height, received, isReduced } = safeSvg(bytes, target);
  return {
    pieces: [safe],
    size: safe.length,
    contentType: 'image/svg+xml',
    format: 'svg',
    width,
    height,
    sha256: await sha256Of(safe),
    provenance: 'none',
    isAnimated: false,
    isReduced,
    // A drawing has no pixels of its own, so nothing was fitted.
    received: { width, height, format: 'svg', isAnimated: false, ...(target === undefined && received) },
  };
}

async function finishPixels(bytes: Buffer, order: FinishOrder, signal: AbortSignal): Promise<FinishedImage> {
  let image: ImageInWork = await inspect(bytes);
  const { width, height, type, isAnimated } = image.header;
  for (const step of STEPS) {
    signal.throwIfAborted();
    image = await step.run(image, order);
  }
  signal.throwIfAborted();
  return { ...(await measure(image)), received: { width, height, format: type, isAnimated } };
}

async function inspect(bytes: Buffer): Promise<ImageInWork> {
  if (bytes.length > MAX_IMAGE_BYTES) throw new ImageError('image_file_too_large', 'The image file is too large.');
  const opened = await openResult(bytes);
  return { ...opened, pieces: [bytes], changes: undefined, isOriginal: true, provenance: 'none' };
}

/** The header was read from these pixels, and changed metadata does not affect it. */
async function measure(image: ImageInWork): Promise<Omit<FinishedImage, 'received'>> {
  const { pieces, provenance } = image;
  const { type, width, height, isAnimated } = image.header;
  const contentType = contentTypeOf(type);
  const sha256 = await sha256Of(...pieces);
  return { pieces, size: lengthOf(pieces), contentType, format: type, width, height, sha256, provenance, isAnimated };
}
