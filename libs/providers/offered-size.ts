/** Size in pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/**
 * The size to request if only some are offered; the result is resized to the exact pixels afterwards. Of the sizes that
 * cover the wanted image: the one nearest in aspect ratio, then the smallest. If none does: the nearest in aspect
 * ratio, then the largest.
 */
export function offeredSize(wanted: Size, offered: readonly Size[]): Size {
  const covers = ({ width, height }: Size): boolean => width >= wanted.width && height >= wanted.height;
  const covering = offered.filter(covers);
  const [candidates, areaSign] = covering.length > 0 ? [covering, 1] : [offered, -1];
  const [best = wanted] = [...candidates].sort(
    (a, b) => distance(a, wanted) - distance(b, wanted) || areaSign * (area(a) - area(b)),
  );
  return best;
}

/** The sizes of a model that supports any multiple of a step. */
export interface SizeGrid {
  /** Step of each edge, in pixels. */
  readonly step: number;
  readonly minPixels: number;
  readonly maxPixels: number;
}

/** Sizes of gpt-image-2 and similar models. */
export const FREE_SIZES: SizeGrid = { step: 16, minPixels: 655_360, maxPixels: 8_294_400 };

/** Sizes of models whose latents are an eighth of the image; below the minimum, their results are poor. */
export const LATENT_SIZES: SizeGrid = { step: 8, minPixels: 262_144, maxPixels: Infinity };

/** More than the rounding error of a root, and far less than a pixel. */
const EPSILON = 1e-6;

/**
 * The size to request if all multiples of a step are offered: the smallest of the wanted aspect ratio that covers the
 * wanted image. Near the maximum there may be none; then the largest of that ratio.
 */
export function gridSize(wanted: Size, { step, minPixels, maxPixels }: SizeGrid): Size {
  const scaled = (scale: number, round: (steps: number) => number): Size => ({
    width: round((wanted.width * scale) / step) * step,
    height: round((wanted.height * scale) / step) * step,
  });
  const enlarged = scaled(Math.max(1, Math.sqrt(minPixels / area(wanted))), (steps) => Math.ceil(steps - EPSILON));
  if (area(enlarged) <= maxPixels) return enlarged;
  return scaled(Math.min(1, Math.sqrt(maxPixels / area(wanted))), (steps) => Math.floor(steps + EPSILON));
}

/** Parses `<w>x<h>`. */
export function sizeOf(text: string): Size {
  const [width, height] = text.split('x');
  return { width: Number(width), height: Number(height) };
}

/** Formats a size as `<w>x<h>`. */
export function textOfSize({ width, height }: Size): string {
  return `${width}x${height}`;
}

function area({ width, height }: Size): number {
  return width * height;
}

/** Distance between two aspect ratios: the same for both of them inverted. */
function distance(a: Size, b: Size): number {
  return Math.abs(Math.log((a.width * b.height) / (a.height * b.width)));
}
