/** In pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/**
 * The size to ask for where only some are offered; what comes is fitted to the exact pixels afterwards. Of those that
 * cover the wanted image the one nearest in shape, then the smallest; where none does, nearest in shape, then the largest.
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

/** The sizes of a model that makes any in steps. */
export interface SizeGrid {
  /** Of each edge, in pixels. */
  readonly step: number;
  readonly minPixels: number;
  readonly maxPixels: number;
}

/** What gpt-image-2 makes, and models like it. */
export const FREE_SIZES: SizeGrid = { step: 16, minPixels: 655_360, maxPixels: 8_294_400 };

/** What models make whose latents are an eighth of the image; of fewer pixels they make nothing sensible. */
export const LATENT_SIZES: SizeGrid = { step: 8, minPixels: 262_144, maxPixels: Infinity };

/** More than the inexactness of a root, far less than a pixel. */
const HAIR = 1e-6;

/**
 * The size to ask for where all in steps are offered: the smallest of the wanted shape that covers the wanted image. Close
 * to the most pixels there may be none; then it is the largest of the shape.
 */
export function gridSize(wanted: Size, { step, minPixels, maxPixels }: SizeGrid): Size {
  const scaled = (scale: number, round: (steps: number) => number): Size => ({
    width: round((wanted.width * scale) / step) * step,
    height: round((wanted.height * scale) / step) * step,
  });
  const enlarged = scaled(Math.max(1, Math.sqrt(minPixels / area(wanted))), (steps) => Math.ceil(steps - HAIR));
  if (area(enlarged) <= maxPixels) return enlarged;
  return scaled(Math.min(1, Math.sqrt(maxPixels / area(wanted))), (steps) => Math.floor(steps + HAIR));
}

/** Of `<w>x<h>`. */
export function sizeOf(text: string): Size {
  const [width, height] = text.split('x');
  return { width: Number(width), height: Number(height) };
}

/** As vendors write it, `<w>x<h>`. */
export function textOfSize({ width, height }: Size): string {
  return `${width}x${height}`;
}

function area({ width, height }: Size): number {
  return width * height;
}

/** Between two shapes, the same for a shape and its turned twin. */
function distance(a: Size, b: Size): number {
  return Math.abs(Math.log((a.width * b.height) / (a.height * b.width)));
}
