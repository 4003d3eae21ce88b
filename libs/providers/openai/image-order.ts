import { IMAGES_PATH } from '../http/images-path.js';
import { formBody, imagePart, jsonBody, type FilePart, type RequestBody } from '../http/request-body.js';
import type { ProviderImageRequest, ProviderInputImage } from '../image-provider.js';
import { knownQuality } from '../known-quality.js';
import { FREE_SIZES, gridSize, offeredSize, sizeOf, textOfSize } from '../offered-size.js';
import { ProviderError } from '../provider-error.js';

/** What a server can be asked for, and how. */
export interface OrderSettings {
  readonly imageModel?: string | undefined;
  readonly responseFormat?: 'b64_json' | 'url' | undefined;
  /** `<w>x<h>`; empty = any. */
  readonly imageSizes: readonly string[];
  /** Masks go to a call of their own, as white where callers' are transparent. */
  readonly masks?: 'inpainting' | undefined;
}

const COMPRESSED: readonly string[] = ['jpeg', 'webp'];

/** One request in the vendor's words. */
export interface ImageOrder {
  readonly path: typeof IMAGES_PATH | '/images/edits' | '/images/inpainting';
  readonly body: RequestBody;
  /** As it was sent: `<w>x<h>` or `auto`. */
  readonly size: string;
  /** What had to be left out or changed, in plain words. */
  readonly warnings: readonly string[];
}

/**
 * Reference images make a generation an edit, since generations take none. `streamed` asks for partial images.
 * Throws ProviderError when nothing is left of the prompt, and for images that the call can't take.
 */
export function orderFor(request: ProviderImageRequest, settings: OrderSettings, streamed: boolean): ImageOrder {
  const warnings: string[] = [];
  const isEdit = request.images.length > 0;
  const size = sizeFor(request, request.sizes ?? settings.imageSizes);
  const fields = {
    model: settings.imageModel ?? request.model,
    prompt: cleanPrompt(request.prompt, warnings),
    n: request.n,
    size,
    quality: knownQuality(request.quality, warnings),
    background: request.background,
    moderation: isEdit ? leaveOut('moderation', request.moderation, warnings) : request.moderation,
    input_fidelity: isEdit ? request.inputFidelity : undefined,
    output_format: request.outputFormat === 'png' ? undefined : request.outputFormat,
    output_compression: COMPRESSED.includes(request.outputFormat) ? request.outputCompression : undefined,
    user: request.user,
    safety_identifier: request.safetyIdentifier,
    response_format: settings.responseFormat,
    ...(streamed ? { stream: true, partial_images: request.partialImages } : {}),
  };
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  if (!isEdit) return { path: IMAGES_PATH, body: jsonBody(given), size, warnings };
  if (request.mask !== undefined && settings.masks === 'inpainting') {
    return {
      path: '/images/inpainting',
      body: formBody(given, inpaintingFiles(request, request.mask)),
      size,
      warnings,
    };
  }
  const files = request.images.map((image, index) => imagePart('image[]', `image-${index}`, image));
  if (request.mask !== undefined) files.push(imagePart('mask', 'mask', request.mask));
  return { path: '/images/edits', body: formBody(given, files), size, warnings };
}

/** LocalAI paints in one image; another one would be ignored, and another image made than the one ordered. */
function inpaintingFiles({ images, model }: ProviderImageRequest, mask: ProviderInputImage): FilePart[] {
  const [image] = images;
  if (image === undefined || images.length > 1) {
    throw new ProviderError('unsupported_parameter', `The provider of ${model} takes one image with a mask.`, {
      retryable: false,
      charged: 'no',
      param: 'image',
    });
  }
  return [imagePart('image', 'image', image), imagePart('mask', 'mask', mask)];
}

function sizeFor({ width, height }: ProviderImageRequest, offered: readonly string[]): string {
  if (width === undefined || height === undefined) return 'auto';
  const wanted = { width, height };
  return textOfSize(offered.length === 0 ? gridSize(wanted, FREE_SIZES) : offeredSize(wanted, offered.map(sizeOf)));
}

function leaveOut(name: string, value: string | undefined, warnings: string[]): undefined {
  if (value !== undefined && value !== 'auto')
    warnings.push(`The provider takes no ${name} with images, so it was left out.`);
}

const CONTROL_BLOCK = /<sd_cpp_extra_args>[\s\S]*?<\/sd_cpp_extra_args>/gi;
const CONTROL_TAG = /<\/?sd_cpp_extra_args>/gi;

/** Some servers take orders from within the prompt; callers have no business with those. */
function cleanPrompt(prompt: string, warnings: string[]): string {
  let clean = prompt;
  // What is left may join to a tag again.
  for (let before = ''; before !== clean;) {
    before = clean;
    clean = clean.replace(CONTROL_BLOCK, '');
    if (clean === before) clean = clean.replace(CONTROL_TAG, '');
  }
  if (clean === prompt) return prompt;
  if (clean.trim() === '') {
    throw new ProviderError('invalid_value', 'The prompt holds nothing but instructions to the server.', {
      retryable: false,
      charged: 'no',
      param: 'prompt',
    });
  }
  warnings.push('Instructions to the server were taken out of the prompt.');
  return clean;
}
