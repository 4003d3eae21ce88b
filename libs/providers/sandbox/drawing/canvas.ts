import type { Palette } from './palette.js';
import type { Random } from './random.js';

/** What a scene draws on. All lengths are pixels of the full-size image. */
export interface Canvas {
  readonly width: number;
  readonly height: number;
  /** A thousandth of the image's typical length, so that 100 units look alike in every aspect ratio. */
  readonly unit: number;
  readonly random: Random;
  readonly palette: Palette;
  /** Words of the prompt, for details. */
  readonly words: ReadonlySet<string>;
}

/** The typical length behind `Canvas.unit`. */
export function unitOf(width: number, height: number): number {
  return Math.min(Math.sqrt(width * height), Math.min(width, height) * 1.25) / 1000;
}

/** Whether the prompt has any of these words. */
export function mentions(canvas: Canvas, ...words: string[]): boolean {
  return words.some((word) => canvas.words.has(word));
}
