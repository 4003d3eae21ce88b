import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { textAt, valueAt } from '../http/json-value.js';
import type { ProviderImageRequest } from '../image-provider.js';
import { offeredSize, type Size } from '../offered-size.js';
import type { LibraryVendor } from './library-vendor.js';
import { cannotTake, fileOf, warnIgnoredOptions, wantedPixels } from './order.js';

type Ratio = `${number}:${number}`;

const GEMINI_RATIOS: readonly Ratio[] = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'];
const IMAGEN_RATIOS: readonly Ratio[] = ['1:1', '3:4', '4:3', '9:16', '16:9'];
/** These models have several tiers; all others have one. */
const HAS_TIERS = /^gemini-[3-9]/;
/** Pixels of an image in the smallest tier, whatever its ratio; each further tier doubles the edges. */
const PIXELS_OF_1K = 1024 * 1024;

/** https://ai.google.dev/gemini-api/docs: image generation, imagen, troubleshooting. One call returns base64. */
export const google: LibraryVendor = {
  maskForm: 'alpha',
  keyHeaders: (secret) => ({ 'x-goog-api-key': secret }),
  model: (name, baseURL, fetch) => createGoogleGenerativeAI({ apiKey: '-', baseURL, fetch }).image(name),
  order: (request) => {
    const isGemini = request.model.startsWith('gemini-');
    refuseImages(request, isGemini);
    const warnings: string[] = [];
    warnIgnoredOptions(request, warnings);
    const wanted = wantedPixels(request);
    const files = request.images.map(fileOf);
    if (wanted === undefined) return { call: { files }, size: 'auto', warnings };
    const ratio = nearestRatio(wanted, isGemini ? GEMINI_RATIOS : IMAGEN_RATIOS);
    const imageSize = HAS_TIERS.test(request.model) ? tierFor(wanted, ratio) : undefined;
    const size = imageSize === undefined ? ratio : `${ratio} ${imageSize}`;
    if (request.width !== undefined)
      warnings.push(`The provider does not accept sizes in pixels, so ${size} was requested.`);
    const imageConfig = { aspectRatio: ratio, ...(imageSize === undefined ? {} : { imageSize }) };
    const options = isGemini ? { providerOptions: { google: { imageConfig } } } : {};
    return { call: { files, aspectRatio: ratio, ...options }, size, warnings };
  },
  refusal: (_status, body) => {
    const reasons = detailsOf(body).map((detail) => textAt(detail, 'reason'));
    const type = textAt(body, 'error', 'status')?.toLowerCase();
    if (reasons.includes('API_KEY_INVALID')) return { status: 401, fields: { type } };
    const isImage = /input image|image data/i.test(textAt(body, 'error', 'message') ?? '');
    const wait = detailsOf(body).map((detail) => Number.parseFloat(textAt(detail, 'retryDelay') ?? ''));
    return {
      fields: type === undefined ? undefined : { type, ...(isImage ? { code: 'invalid_image' } : {}) },
      retryAfter: wait.find((seconds) => seconds >= 0),
    };
  },
  readable: (value) => {
    const candidates = valueAt(value, 'candidates');
    if (!Array.isArray(candidates)) return value;
    return { ...(value as object), candidates: (candidates as unknown[]).map(withoutDrafts) };
  },
  isWorded: (value) => partsOf(valueAt(value, 'candidates', 0)).some((part) => textAt(part, 'text') !== undefined),
  isBlocked: (answer) => answer.images.length === 0 && 'isRetryable' in answer && answer.isRetryable === false,
  isWithheld: () => false,
};

/** This library does not support edits for Imagen, or masks for Gemini. */
function refuseImages({ model, images, mask }: ProviderImageRequest, isGemini: boolean): void {
  if (images.length > 0 && !isGemini)
    throw cannotTake('image', `The provider of ${model} does not accept reference images.`);
  if (mask !== undefined) throw cannotTake('mask', `The provider of ${model} does not support masks.`);
}

function nearestRatio(wanted: Size, ratios: readonly Ratio[]): Ratio {
  const shapes = ratios.map((ratio) => {
    const [width = 1, height = 1] = ratio.split(':').map(Number);
    return { ratio, width, height };
  });
  const best = offeredSize(wanted, shapes);
  return shapes.find(({ width, height }) => width === best.width && height === best.height)?.ratio ?? '1:1';
}

/** The smallest tier whose image of this ratio covers the wanted one, with a tolerance of 1 %. */
function tierFor(wanted: Size, ratio: Ratio): '1K' | '2K' | '4K' {
  const [across = 1, down = 1] = ratio.split(':').map(Number);
  const unit = Math.sqrt(PIXELS_OF_1K / (across * down));
  const scale = Math.max(wanted.width / (across * unit), wanted.height / (down * unit)) / 1.01;
  if (scale <= 1) return '1K';
  return scale <= 2 ? '2K' : '4K';
}

function detailsOf(body: unknown): readonly unknown[] {
  const details = valueAt(body, 'error', 'details');
  return Array.isArray(details) ? details : [];
}

function partsOf(candidate: unknown): readonly unknown[] {
  const parts = valueAt(candidate, 'content', 'parts');
  return Array.isArray(parts) ? parts : [];
}

/**
 * Gemini 3 draws drafts while it thinks, and sends them before the image, marked as thoughts; the library hands out all
 * of them alike. If several images are left, the last one is the finished one.
 */
function withoutDrafts(candidate: unknown): unknown {
  const parts = partsOf(candidate).filter((part) => valueAt(part, 'thought') !== true);
  if (parts.length === 0 && partsOf(candidate).length === 0) return candidate;
  const isImage = (part: unknown): boolean =>
    (valueAt(part, 'inlineData') ?? valueAt(part, 'inline_data')) !== undefined;
  const last = parts.findLastIndex(isImage);
  const kept = parts.filter((part, index) => index === last || !isImage(part));
  return { ...(candidate as object), content: { ...(valueAt(candidate, 'content') as object), parts: kept } };
}
