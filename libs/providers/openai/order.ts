import { IMAGES_PATH } from '../http/images-path.js';
import { formBody, imagePart, jsonBody, type FilePart, type RequestBody } from '../http/request-body.js';
import type { ProviderImageRequest, ProviderInputImage } from '../image-provider.js';
import { knownQuality } from '../known-quality.js';
import { FREE_SIZES, gridSize, offeredSize, sizeOf, textOfSize } from '../offered-size.js';
import { ProviderError } from '../provider-error.js';

/** How to order from a server, and which sizes it offers. */
export interface OrderSettings {
  readonly imageModel?: string | undefined;
  readonly responseFormat?: 'b64_json' | 'url' | undefined;
  /** `<w>x<h>`; empty = any. */
  readonly imageSizes: readonly string[];
  /** Masks are sent to a separate endpoint, inverted to white where callers' masks are transparent. */
  readonly masks?: 'inpainting' | undefined;
}

const COMPRESSED: readonly string[] = ['jpeg', 'webp'];

/** One request, in the vendor's terms. */
export interface ImageOrder {
  readonly path: typeof IMAGES_PATH | '/images/edits' | '/images/inpainting';
  readonly body: RequestBody;
  /** The size that was sent: `<w>x<h>` or `auto`. */
  readonly size: string;
  /** Options that were omitted or changed, as sentences for callers. */
  readonly warnings: readonly string[];
}

/**
 * With reference images, a generation becomes an edit, because generations take none. `streamed` requests partial
 * images. Throws ProviderError if the prompt is empty after cleaning, and for images that the call can't take.
 */
export function orderFor(request: ProviderImageRequest, settings: OrderSettings, streamed: boolean): ImageOrder {
  const warnings: string[] = [];
  const isEdit = request.images.length > 0;
  const size = sizeFor(request, request.sizes ?? settings.imageSizes);
  const fields = {
    ...request.extra,
    model: settings.imageModel ?? request.model,
    prompt: cleanPrompt(request.prompt, warnings),
    n: request.n,
    size,
    quality: knownQuality(request.quality, warnings),
    background: request.background,
    moderation: isEdit ? warnIgnored('moderation', request.moderation, warnings) : request.moderation,
    input_fidelity: isEdit ? request.inputFidelity : undefined,
    output_format: request.outputFormat === 'png' ? undefined : request.outputFormat,
    complexity: request.complexity,
    frame_count: request.frameCount,
    frame_duration_ms: request.frameDurationMs,
    svg: request.outputFormat === 'svg' ? request.svg : undefined,
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
  if (request.markup !== undefined) files.push(imagePart('markup', 'markup', request.markup));
  return { path: '/images/edits', body: formBody(given, files), size, warnings };
}

/** LocalAI inpaints a single image; it would ignore others, and so generate a different image than ordered. */
function inpaintingFiles({ images, model }: ProviderImageRequest, mask: ProviderInputImage): FilePart[] {
  const [image] = images;
  if (image === undefined || images.length > 1) {
    throw new ProviderError('unsupported_parameter', `The provider of ${model} accepts only one image with a mask.`, {
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

function warnIgnored(name: string, value: string | undefined, warnings: string[]): undefined {
  if (value !== undefined && value !== 'auto')
    warnings.push(`The provider does not support ${name} with images, so it was ignored.`);
}

const CONTROL_BLOCK = /<sd_cpp_extra_args>[\s\S]*?<\/sd_cpp_extra_args>/gi;
const CONTROL_TAG = /<\/?sd_cpp_extra_args>/gi;

/** Removes instructions that some servers read from the prompt; callers must not control the server. */
function cleanPrompt(prompt: string, warnings: string[]): string {
  let clean = prompt;
  // The remaining text may form a tag again.
  for (let before = ''; before !== clean;) {
    before = clean;
    clean = clean.replace(CONTROL_BLOCK, '');
    if (clean === before) clean = clean.replace(CONTROL_TAG, '');
  }
  if (clean === prompt) return prompt;
  if (clean.trim() === '') {
    throw new ProviderError('invalid_value', 'The prompt contains nothing but server directives.', {
      retryable: false,
      charged: 'no',
      param: 'prompt',
    });
  }
  warnings.push('Server directives were removed from the prompt.');
  return clean;
}
