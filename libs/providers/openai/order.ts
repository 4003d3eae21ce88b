import { IMAGES_PATH } from '../http/images-path.js';
import { formBody, imagePart, jsonBody, type FilePart, type RequestBody } from '../http/request-body.js';
import type { ProviderImageRequest, ProviderInputImage } from '../image-provider.js';
import { chosenField } from '../http/failures.js';
import { warnExtra } from '../ignored-options.js';
import { knownQuality } from '../known-quality.js';
import { FREE_SIZES, gridSize, offeredSize, sizeOf, textOfSize } from '../offered-size.js';
import { ProviderError } from '../provider-error.js';

/** How to order from a server, and which sizes it offers. */
export interface OrderSettings {
  readonly imageModel?: string | undefined;
  readonly responseFormat?: 'b64_json' | 'url' | undefined;
  /** `<w>x<h>`; empty = any. */
  readonly imageSizes: readonly string[];
  /** Masks are white where callers' masks are transparent; `inpainting`: and sent to a separate endpoint. */
  readonly masks?: 'inpainting' | 'white' | undefined;
  /** False: it does not accept the size auto. */
  readonly autoSize?: boolean | undefined;
  /** The server's names of the extra fields that it accepts; undefined: it accepts all of them by their own names. */
  readonly extra?: Readonly<Record<string, string>> | undefined;
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
  const size = sizeFor(request, request.sizes ?? settings.imageSizes, settings.autoSize !== false);
  const { [PROMPT_BLOCK]: inPrompt, ...extra } = extraFields(request, settings, warnings);
  const fields = {
    ...extra,
    model: settings.imageModel ?? request.model,
    prompt: withBlock(cleanPrompt(request.prompt, warnings), inPrompt),
    n: request.n,
    size: size === 'auto' && settings.autoSize === false ? undefined : size,
    quality: knownQuality(request.quality, warnings),
    background: request.background,
    moderation: isEdit ? warnIgnored('moderation', request.moderation, warnings) : request.moderation,
    input_fidelity: isEdit ? request.inputFidelity : undefined,
    output_format: request.outputFormat === 'png' ? undefined : request.outputFormat,
    complexity: request.complexity,
    frame_count: request.frameCount,
    frame_duration_ms: request.frameDurationMs,
    ...svgAuthor(request, isEdit),
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

/** As OpenAI's SDK sends it: in a form, each member is a field. */
function svgAuthor({ outputFormat, svg }: ProviderImageRequest, isForm: boolean): Record<string, unknown> {
  if (outputFormat !== 'svg' || svg === undefined) return {};
  return isForm ? { 'svg[model]': svg.model, 'svg[reasoning][effort]': svg.reasoning?.effort } : { svg };
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

/**
 * A server that accepts no `auto` draws the tier's square instead, and decides about the size of edits, because most
 * follow their first image.
 */
function sizeFor(request: ProviderImageRequest, offered: readonly string[], autoSize: boolean): string {
  const edge = autoSize || request.images.length > 0 ? undefined : request.squareEdge;
  const { width = edge, height = edge } = request;
  if (width === undefined || height === undefined) return 'auto';
  const wanted = { width, height };
  return textOfSize(offered.length === 0 ? gridSize(wanted, FREE_SIZES) : offeredSize(wanted, offered.map(sizeOf)));
}

/** The extra fields in the server's terms. */
function extraFields(
  { extra = {} }: ProviderImageRequest,
  { extra: names }: OrderSettings,
  warnings: string[],
): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(extra)) {
    const path = names === undefined ? name : Object.hasOwn(names, name) ? names[name] : undefined;
    if (path === undefined) warnExtra({ extra: { [name]: value } }, warnings);
    else put(fields, path.split('.'), value);
  }
  return fields;
}

function put(fields: Record<string, unknown>, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    fields[name] = value;
    return;
  }
  const found = Object.hasOwn(fields, name) ? fields[name] : undefined;
  const inner = typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {};
  fields[name] = inner;
  put(inner, rest, value);
}

/** What the request calls a field that an error of the server names; undefined if the caller did not choose its value. */
export function callerField(
  { extra = {} }: ProviderImageRequest,
  { extra: names }: OrderSettings,
  field: string,
): string | undefined {
  const sent = Object.keys(extra);
  const isIt = (name: string): boolean => (names === undefined ? name : names[name]?.split('.').at(-1)) === field;
  return sent.find(isIt) ?? chosenField(field);
}

function warnIgnored(name: string, value: string | undefined, warnings: string[]): undefined {
  if (value !== undefined && value !== 'auto')
    warnings.push(`The provider does not support ${name} with images, so it was ignored.`);
}

/** What sd-server reads from the prompt, because it knows no other fields than OpenAI's: JSON between tags of this name. */
const PROMPT_BLOCK = 'sd_cpp_extra_args';

/** In JSON without `<`, a caller's text can't end the block. */
function withBlock(prompt: string, values: unknown): string {
  if (values === undefined) return prompt;
  return `${prompt} <${PROMPT_BLOCK}>${JSON.stringify(values).replaceAll('<', '\\u003c')}</${PROMPT_BLOCK}>`;
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
