import { createRequire } from 'node:module';
import { encodeAs } from '#images/encode.js';
import { registerFonts } from '#images/drawing.js';
import { withImageSlot, openImage } from '#images/sharp.js';
import type { ProviderImageRequest } from '../image-provider.js';
import { animate } from './animate.js';
import { drawEdit } from './draw-edit.js';
import { drawDocument, drawGeneration } from './draw-generation.js';
import { drawMasked } from './draw-masked.js';
import { openLayer } from './layers.js';
import { planPainting } from './painting.js';
import type { Sharp } from 'sharp';

/** Edge of the square drawn without a requested size, in pixels. */
const DEFAULT_EDGE = 1024;
/** Largest image drawn in an input's own size, in pixels: the largest of the pixel table. */
const MAX_PIXELS = 8_294_400;
/** Longest edges of the first, second and third partial image, in pixels. */
const PARTIAL_EDGES = [320, 512, 768] as const;
const PARTIAL_QUALITY = 45;

/** An encoded image, and warnings about what could not be done. */
export interface DrawnImage {
  readonly bytes: Buffer;
  readonly width: number;
  readonly height: number;
  readonly warnings: readonly string[];
}

/** Draws and encodes one requested image. `prompt` is the request's prompt without directives. */
export async function drawImage(
  request: ProviderImageRequest,
  prompt: string,
  signal: AbortSignal,
  variation = 0,
): Promise<DrawnImage> {
  const { width, height } = sizeOf(request);
  const { outputFormat, outputCompression, frameCount, frameDurationMs } = request;
  const warnings: string[] = [];
  if (outputFormat === 'svg') {
    const painting = planPainting(prompt, request.images, variation);
    const isTransparent = request.background === 'transparent';
    if (request.images.length > 0) warnings.push('The sandbox draws an SVG document without the reference images.');
    const bytes = Buffer.from(drawDocument({ painting, width, height, isTransparent }));
    return { bytes, width, height, warnings };
  }
  await registerFonts(fontFiles());
  const pipeline = await openStoredImage(request, { prompt, variation, width, height, signal, warnings });
  signal.throwIfAborted();
  const moves = outputFormat === 'gif' && (frameCount ?? frameDurationMs) !== undefined;
  const bytes = moves
    ? await animate(pipeline, { frameCount, frameDurationMs }, warnings)
    : await withImageSlot(() => encodeAs(pipeline, outputFormat, outputCompression).toBuffer());
  return { bytes, width, height, warnings };
}

/** A small, blurred copy of a finished image, sharper with every index (0..2). */
export function drawPartial(
  image: Buffer,
  index: number,
  format: ProviderImageRequest['outputFormat'],
): Promise<Buffer> {
  const edge = PARTIAL_EDGES[index] ?? PARTIAL_EDGES[2];
  const small = openImage(image).resize(edge, edge, { fit: 'inside', withoutEnlargement: true });
  return withImageSlot(() =>
    encodeAs(index === 0 ? small.blur(4) : small, format === 'svg' ? 'png' : format, PARTIAL_QUALITY).toBuffer(),
  );
}

/** Exact size of the image: the requested one, else the first image's for an edit, else the tier's square. */
export function sizeOf(request: ProviderImageRequest): { width: number; height: number } {
  const { action, width, height, squareEdge = DEFAULT_EDGE, images } = request;
  if (width !== undefined && height !== undefined) return { width, height };
  const [first] = images;
  if (action === 'generation' || first === undefined) return { width: squareEdge, height: squareEdge };
  const scale = Math.min(1, Math.sqrt(MAX_PIXELS / (first.width * first.height)));
  return { width: Math.max(1, Math.floor(first.width * scale)), height: Math.max(1, Math.floor(first.height * scale)) };
}

interface Plan {
  readonly prompt: string;
  readonly variation: number;
  readonly width: number;
  readonly height: number;
  readonly signal: AbortSignal;
  readonly warnings: string[];
}

async function openStoredImage(request: ProviderImageRequest, plan: Plan): Promise<Sharp> {
  const { images, mask, markup, action, outputFormat } = request;
  const { prompt, variation, width, height, signal, warnings } = plan;
  const sent = [mask, markup].filter((overlay) => overlay !== undefined);
  const painting = planPainting(prompt, [...images, ...sent], variation);
  const isTransparent = request.background === 'transparent' && outputFormat !== 'jpeg';
  if (request.background === 'transparent' && !isTransparent)
    warnings.push('JPEG does not support transparency; the background is opaque.');
  const [first, ...others] = images;
  if (action === 'generation' || first === undefined) {
    const drawing = await drawGeneration({ painting, width, height, images, isTransparent });
    return isTransparent ? drawing : drawing.removeAlpha();
  }
  if (mask === undefined) {
    const drawing = await drawEdit({ painting, width, height, first, others, markup, isTransparent });
    return isTransparent ? drawing : drawing.removeAlpha();
  }
  const { pixels, isChanged } = await drawMasked({ painting, width, height, first, others, mask }, signal);
  if (!isChanged) warnings.push('The mask has no fully transparent pixel; nothing was changed.');
  const mayBeTransparent = outputFormat !== 'jpeg' && request.background !== 'opaque';
  const hasAlpha = mayBeTransparent && (await openImage(first.bytes).metadata()).hasAlpha;
  return hasAlpha ? openLayer(pixels) : openLayer(pixels).flatten({ background: '#ffffff' });
}

function fontFiles(): string[] {
  const resolve = createRequire(import.meta.url).resolve;
  return ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf'].map((name) => resolve(`dejavu-fonts-ttf/ttf/${name}`));
}
