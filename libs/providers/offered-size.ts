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
