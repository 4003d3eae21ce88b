import type { Model } from '../../api/types.ts';

/** Dimensions of an image. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
}

/** A size close to the shape of a reference. */
export interface LikeSize {
  /** A ratio, or `<w>x<h>`. */
  readonly size: string;
  /** The model has no size of that exact shape; the image is cropped or extended to the nearest one. */
  readonly isNearest: boolean;
}

/** Leaves the shape to the model. */
export const NO_CHOICE: LikeSize = { size: 'auto', isNearest: false };

/** The precision of the table of sizes. */
const SAME_SHAPE = 0.005;
/** Widely supported sizes are multiples of this, in pixels. */
const GRID = 16;
/** The edge of a square image of each tier, in pixels. */
const EDGES: Readonly<Record<string, number>> = { '1k': 1024, '2k': 2048, '4k': 2880 };

/** The size closest to the shape of a reference: a ratio of the model, or pixels if it accepts them. */
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
    // The epsilon keeps integers that rounding has made slightly smaller.
    const edge = (length: number) => Math.max(GRID, Math.floor((length * scale) / GRID + 1e-6) * GRID);
    const x = edge(Math.sqrt(area * ratio));
    const y = edge(Math.sqrt(area / ratio));
    const mostX = y * pixels.max_ratio;
    const mostY = x * pixels.max_ratio;
    return { size: `${Math.min(x, mostX)}x${Math.min(y, mostY)}`, isNearest: false };
  }
  return nearest === undefined ? NO_CHOICE : { size: nearest.size, isNearest: true };
}

/**
 * The form values for a size in pixels: the nearest ratio, and the tier of the most similar area; undefined for any
 * other size.
 */
export function shapeOf(size: string, ratios: readonly string[]): { size: string; resolution: string } | undefined {
  const [width = NaN, height = NaN] = size.split('x').map(Number);
  if (!(width > 0 && height > 0)) return undefined;
  const distance = (edge: number) => Math.abs(Math.log(edge ** 2 / (width * height)));
  const [tier] = Object.entries(EDGES).sort(([, one], [, other]) => distance(one) - distance(other));
  return { size: sizeLike({ width, height }, { sizes: ratios }, '').size, resolution: tier?.[0] ?? '1k' };
}
