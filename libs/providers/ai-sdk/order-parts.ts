import type { ProviderImageRequest, ProviderInputImage } from '../image-provider.js';
import { leaveOut, NO_PARTIALS } from '../left-out.js';
import type { Size } from '../offered-size.js';
import { ProviderError } from '../provider-error.js';
import type { LibraryCall } from './library-vendor.js';

type LibraryFile = NonNullable<LibraryCall['mask']>;

/** An input image as the libraries take it: its bytes, not an address. */
export function fileOf({ bytes, contentType }: ProviderInputImage): LibraryFile {
  return { type: 'file', data: bytes, mediaType: contentType };
}

/** The pixels that are wanted; a square of the tier where only that is known. */
export function wantedPixels({ width, height, squareEdge }: ProviderImageRequest): Size | undefined {
  if (width !== undefined && height !== undefined) return { width, height };
  return squareEdge === undefined ? undefined : { width: squareEdge, height: squareEdge };
}

/** Says what of the request no vendor of the library is told. */
export function leaveOutOptions(request: ProviderImageRequest, warnings: string[]): void {
  leaveOut('quality', request.quality, warnings);
  leaveOut('moderation', request.moderation, warnings);
  leaveOut('input_fidelity', request.inputFidelity, warnings);
  if (request.background === 'transparent') leaveOut('transparent background', request.background, warnings);
  if (request.partialImages > 0) warnings.push(NO_PARTIALS);
}

/** Images can't be left out like an option: another image would be paid for. */
export function cannotTake(param: 'image' | 'mask', text: string): ProviderError {
  return new ProviderError('unsupported_parameter', text, { retryable: false, charged: 'no', param });
}
