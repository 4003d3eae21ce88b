import { createHash } from 'node:crypto';
import type { ProviderInputImage } from '../image-provider.js';
import { unitOf, type Canvas } from './drawing/canvas.js';
import { caption } from './caption.js';
import { darker } from './drawing/color.js';
import { paletteFor, type Palette } from './drawing/palette.js';
import { Random } from './drawing/random.js';
import { abstract } from './scenes/abstract.js';
import { landscape } from './scenes/landscape.js';
import { portrait } from './scenes/portrait.js';
import { readSubject, type Motif } from './drawing/subject.js';
import { px } from './drawing/svg.js';

/** Motifs for prompts without a known word. */
const UNNAMED: readonly [Motif, ...Motif[]] = ['abstract', 'mountains', 'sea'];

/** The plan for a prompt and its images, independent of the size. */
export interface Painting {
  readonly prompt: string;
  readonly seed: string;
  readonly motif: Motif;
  /** What to put behind a cut-out image. */
  readonly backdrop: Motif;
  readonly palette: Palette;
  readonly words: ReadonlySet<string>;
}

/**
 * Chooses the motif, palette, and seed. The same prompt and images always lead to the same painting, and each variation
 * to another.
 */
export function planPainting(prompt: string, inputs: readonly ProviderInputImage[], variation = 0): Painting {
  const hash = createHash('sha256').update(variation === 0 ? prompt : `${prompt} ${variation}`);
  for (const input of inputs) hash.update(createHash('sha256').update(input.bytes).digest());
  const seed = hash.digest('hex');
  const random = new Random(seed);
  const subject = readSubject(prompt);
  return {
    prompt,
    seed,
    motif: subject.motif ?? random.fork('motif').pick(UNNAMED),
    backdrop: subject.backdrop ?? 'mountains',
    palette: paletteFor(subject.mood, subject.words, random.fork('palette')),
    words: subject.words,
  };
}

/** A canvas of this painting in pixels. */
export function canvasOf(painting: Painting, width: number, height: number): Canvas {
  const { palette, words, seed } = painting;
  return { width, height, unit: unitOf(width, height), random: new Random(seed), palette, words };
}

/** Only the painting's scene, as SVG elements. */
export function sceneOf(painting: Painting, width: number, height: number): string {
  return drawScene(painting.motif, canvasOf(painting, width, height));
}

/** The painting's backdrop, as SVG elements. */
export function backdropOf(painting: Painting, width: number, height: number): string {
  return drawScene(painting.backdrop, canvasOf(painting, width, height));
}

function drawScene(motif: Motif, canvas: Canvas): string {
  switch (motif) {
    case 'animal':
    case 'still-life':
      return portrait(canvas, motif);
    case 'abstract':
      return abstract(canvas);
    default:
      return landscape(canvas, motif);
  }
}

/** The prompt and the mark, as SVG elements; `covering` if the image below may contain text. */
export function captionOf(painting: Painting, width: number, height: number, covering = false): string {
  return caption(
    painting.prompt,
    { width, height, unit: unitOf(width, height) },
    covering ? darker(painting.palette.near, 0.25) : undefined,
  );
}

/** A complete SVG document of exactly this size in pixels. */
export function document(width: number, height: number, content: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${content}</svg>`;
}

/** The same content as a sticker: inside a rounded shape with a white edge and a transparent background. */
export function sticker(width: number, height: number, content: string): string {
  const share = 0.88;
  const left = (width * (1 - share)) / 2;
  const top = (height * (1 - share)) / 2;
  const shape = `width="${width}" height="${height}" rx="${px(Math.min(width, height) * 0.1)}"`;
  const edge = `stroke="#ffffff" stroke-width="${px(Math.min(width, height) * 0.03)}"`;
  return [
    `<defs><clipPath id="sticker"><rect ${shape}/></clipPath></defs>`,
    `<g transform="translate(${px(left)} ${px(top)}) scale(${share})">`,
    `<g clip-path="url(#sticker)">${content}</g><rect ${shape} fill="none" ${edge}/></g>`,
  ].join('');
}
