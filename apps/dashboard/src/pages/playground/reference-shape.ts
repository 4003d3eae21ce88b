import type { Model } from '../../api/types.ts';

/** Of an image. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
}

/** A size for images of some shape. */
export interface LikeSize {
  /** A ratio, or `<w>x<h>`. */
  readonly size: string;
  /** The model has no size of that shape: an image of the nearest one is cut or drawn anew at its edges. */
  readonly isNearest: boolean;
}

/** Leaves the shape to the model. */
export const NO_CHOICE: LikeSize = { size: 'auto', isNearest: false };

/** The table of sizes is as exact. */
const SAME_SHAPE = 0.005;
/** Widely supported sizes have edges of so many pixels. */
const GRID = 16;
/** The edge of a square image of each tier, in pixels. */
const EDGES: Readonly<Record<string, number>> = { '1k': 1024, '2k': 2048, '4k': 2880 };

/** The size of an image that has the shape of a reference: a ratio of the model, else pixels where it takes them. */
export function sizeLike(
  { width, height }: Pixels,
  { sizes = [], pixel_sizes: pixels }: Model['capabilities'],
  resolution: string,
): LikeSize {
  const ratio = width / height;
  const [nearest] = sizes
    .flatMap((size) => {
      const [x = NaN, y = NaN] = size.split(':').map(Number);
      return Number.isNaN(x / y) ? [] : [{ size, distance: Math.abs(Math.log(x / y / ratio)) }];
    })
    .sort((a, b) => a.distance - b.distance);
  if (nearest !== undefined && nearest.distance <= SAME_SHAPE) return { size: nearest.size, isNearest: false };
  if (pixels !== undefined && Math.max(ratio, 1 / ratio) <= pixels.max_ratio) {
    const area = (EDGES[resolution] ?? 1024) ** 2;
    const scale = Math.min(1, pixels.max_edge / Math.sqrt(area * Math.max(ratio, 1 / ratio)));
    // What is a whole number but for rounding stays one.
    const edge = (length: number) => Math.max(GRID, Math.floor((length * scale) / GRID + 1e-6) * GRID);
    const [x, y] = [edge(Math.sqrt(area * ratio)), edge(Math.sqrt(area / ratio))];
    const [mostX, mostY] = [y * pixels.max_ratio, x * pixels.max_ratio];
    return { size: `${Math.min(x, mostX)}x${Math.min(y, mostY)}`, isNearest: false };
  }
  return nearest === undefined ? NO_CHOICE : { size: nearest.size, isNearest: true };
}

/** What the form calls a size in pixels: the nearest of the ratios, and the tier of the most similar area; undefined for any other size. */
export function shapeOf(size: string, ratios: readonly string[]): { size: string; resolution: string } | undefined {
  const [width = NaN, height = NaN] = size.split('x').map(Number);
  if (!(width > 0 && height > 0)) return undefined;
  const distance = (edge: number) => Math.abs(Math.log(edge ** 2 / (width * height)));
  const [tier] = Object.entries(EDGES).sort(([, one], [, other]) => distance(one) - distance(other));
  return { size: sizeLike({ width, height }, { sizes: ratios }, '').size, resolution: tier?.[0] ?? '1k' };
}
