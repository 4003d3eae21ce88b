import type { ProviderImageRequest, ProviderInputImage } from '../image-provider.js';
import { warnExtra, warnIgnored, warnUnsupported, NO_PARTIALS } from '../ignored-options.js';
import type { Size } from '../offered-size.js';
import { ProviderError } from '../provider-error.js';
import type { LibraryCall } from './library-vendor.js';

type LibraryFile = NonNullable<LibraryCall['mask']>;

/** An input image as the libraries take it: bytes, not a URL. */
export function fileOf({ bytes, contentType }: ProviderInputImage): LibraryFile {
  return { type: 'file', data: bytes, mediaType: contentType };
}

/** The requested pixels; the tier's square if only the tier is known. */
export function wantedPixels({ width, height, squareEdge }: ProviderImageRequest): Size | undefined {
  if (width !== undefined && height !== undefined) return { width, height };
  return squareEdge === undefined ? undefined : { width: squareEdge, height: squareEdge };
}

/** Adds warnings for options that none of the library's vendors take. */
export function warnIgnoredOptions(request: ProviderImageRequest, warnings: string[]): void {
  warnIgnored('quality', request.quality, warnings);
  warnIgnored('moderation', request.moderation, warnings);
  warnIgnored('input_fidelity', request.inputFidelity, warnings);
  warnUnsupported(request, warnings);
  warnExtra(request, warnings);
  if (request.background === 'transparent') warnIgnored('transparent background', request.background, warnings);
  if (request.partialImages > 0) warnings.push(NO_PARTIALS);
}

/** Unlike options, images can't be omitted: the caller would pay for a different image. */
export function cannotTake(param: 'image' | 'mask', text: string): ProviderError {
  return new ProviderError('unsupported_parameter', text, { retryable: false, charged: 'no', param });
}
