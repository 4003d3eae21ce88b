import { setImmediate as breathe } from 'node:timers/promises';
import type { ProviderInputImage } from '../image-provider.js';
import { openLayer, overlay, render, renderDrawing, renderInput, type Pixels } from './layers.js';
import { frameEdges, layOutFrames, type Frame } from './frames.js';
import { hungImages } from './layers.js';
import { captionOf, document, sceneOf, type Painting } from './painting.js';

/** An edit of the area that the mask leaves open. */
export interface MaskedOrder {
  readonly painting: Painting;
  readonly width: number;
  readonly height: number;
  readonly first: ProviderInputImage;
  readonly others: readonly ProviderInputImage[];
  readonly mask: ProviderInputImage;
}

/** The first image, with the painting where the mask is open. */
export interface MaskedDrawing {
  readonly pixels: Pixels;
  /** False when the mask leaves nothing to edit. */
  readonly isChanged: boolean;
}

/** Pixels copied before yielding to the event loop: about 2 ms. */
const PIXELS_AT_ONCE = 1_000_000;

/**
 * Draws the scene where the mask is fully transparent. All other pixels are exactly those of the first image, which is
 * scaled first if the order has another size.
 */
export async function drawMasked(order: MaskedOrder, signal: AbortSignal): Promise<MaskedDrawing> {
  const { width, height, first, mask } = order;
  const original = await renderInput(first, width, height);
  const cover = await renderInput(mask, width, height, 'nearest');
  const area = await editableArea(cover);
  if (area === undefined) return { pixels: original, isChanged: false };
  signal.throwIfAborted();
  const filling = await drawFilling(order, area);
  await copyWhereTransparent(filling, cover, original, area);
  return { pixels: original, isChanged: true };
}

async function drawFilling({ painting, others }: MaskedOrder, { width, height }: Frame): Promise<Pixels> {
  const frames = layOutFrames(others, {
    left: width * 0.08,
    top: height * 0.06,
    width: width * 0.84,
    height: height * 0.6,
  });
  const scene = sceneOf(painting, width, height) + frameEdges(frames, width, height, painting.palette.near);
  const drawn = await renderDrawing(document(width, height, scene + captionOf(painting, width, height)));
  if (others.length === 0) return drawn;
  return render(
    openLayer(drawn).composite([
      ...(await hungImages(others, frames)),
      overlay(await renderDrawing(document(width, height, captionOf(painting, width, height)))),
    ]),
  );
}

/** The smallest rectangle around all pixels that may be edited. */
async function editableArea({ data, width, height }: Pixels): Promise<Frame | undefined> {
  let left = width;
  let right = -1;
  let top = height;
  let bottom = -1;
  await inSlices(width, height, (y) => {
    for (let x = 0; x < width; x++) {
      if (data[(y * width + x) * 4 + 3] !== 0) continue;
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < top) top = y;
      bottom = y;
    }
  });
  return right < 0 ? undefined : { left, top, width: right - left + 1, height: bottom - top + 1 };
}

async function copyWhereTransparent(filling: Pixels, mask: Pixels, target: Pixels, area: Frame): Promise<void> {
  await inSlices(area.width, area.height, (row) => {
    for (let column = 0; column < area.width; column++) {
      const at = ((area.top + row) * target.width + area.left + column) * 4;
      if (mask.data[at + 3] !== 0) continue;
      const from = (row * filling.width + column) * 4;
      target.data[at] = filling.data[from] ?? 0;
      target.data[at + 1] = filling.data[from + 1] ?? 0;
      target.data[at + 2] = filling.data[from + 2] ?? 0;
      target.data[at + 3] = 255;
    }
  });
}

async function inSlices(width: number, height: number, visitRow: (row: number) => void): Promise<void> {
  const rowsAtOnce = Math.max(1, Math.floor(PIXELS_AT_ONCE / width));
  for (let row = 0; row < height; row++) {
    visitRow(row);
    if (row % rowsAtOnce === rowsAtOnce - 1) await breathe();
  }
}
