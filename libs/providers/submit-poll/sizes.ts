import { IMAGE_SIZES, pixelsFor, RESOLUTIONS, sizeOfPixels } from '#contract/pixel-table.js';
import { FREE_SIZES, gridSize, offeredSize, textOfSize, type Size } from '../offered-size.js';
import type { SentSize } from './dialect.js';

/** Every ratio and tier of our own table, which is also APIMart's. */
const TABLE: readonly Size[] = IMAGE_SIZES.flatMap((size) =>
  RESOLUTIONS.map((resolution) => pixelsFor(size, resolution)).filter((pixels) => pixels !== null),
);

/** The tier whose 1:1 image has this edge. */
export function tierOf(squareEdge: number | undefined): string {
  return RESOLUTIONS.find((tier) => pixelsFor('1:1', tier)?.width === squareEdge) ?? '1k';
}

/** Pixels that can be requested if the vendor passes them to the model. */
export function askablePixels(wanted: Size): Size {
  return gridSize(wanted, FREE_SIZES);
}

/** Ratio and tier if the table has these pixels, else the pixels themselves. */
export function ratioOrPixels(wanted: Size): SentSize {
  const asked = askablePixels(wanted);
  const size = textOfSize(asked);
  const entry = sizeOfPixels(size);
  return { size, fields: entry === undefined ? { size } : { size: entry.size, resolution: entry.resolution } };
}

/** The offered ratio and tier that suits these pixels best. */
export function offeredRatio(wanted: Size, offers: (ratio: string, tier: string) => boolean): SentSize {
  const offered = TABLE.filter((pixels) => {
    const entry = sizeOfPixels(textOfSize(pixels));
    return entry !== undefined && offers(entry.size, entry.resolution);
  });
  return ratioOrPixels(offeredSize(wanted, offered));
}
