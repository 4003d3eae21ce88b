import type { Sharp } from 'sharp';
import { openDrawing } from '#images/drawing.js';
import type { ProviderInputImage } from '../image-provider.js';
import { frameEdges, layOutFrames } from './frames.js';
import { hungImages, openLayer, overlay, renderDrawing } from './layers.js';
import { captionOf, document, sceneOf, sticker, type Painting } from './painting.js';

/** A painting at a size in pixels, with the reference images to show in it. */
export interface GenerationOrder {
  readonly painting: Painting;
  readonly width: number;
  readonly height: number;
  readonly images: readonly ProviderInputImage[];
  readonly isTransparent: boolean;
}

/** Draws a new image as an SVG document. */
export function drawDocument({ painting, width, height, isTransparent }: Omit<GenerationOrder, 'images'>): string {
  const content = sceneOf(painting, width, height) + captionOf(painting, width, height);
  return document(width, height, isTransparent ? sticker(width, height, content) : content);
}

/** Draws a new image; reference images hang in frames before its scene. */
export async function drawGeneration({
  painting,
  width,
  height,
  images,
  isTransparent,
}: GenerationOrder): Promise<Sharp> {
  const finish = (content: string): string =>
    document(width, height, isTransparent ? sticker(width, height, content) : content);
  const scene = sceneOf(painting, width, height);
  if (images.length === 0) return openDrawing(drawDocument({ painting, width, height, isTransparent }));
  const frames = layOutFrames(images, {
    left: width * 0.08,
    top: height * 0.08,
    width: width * 0.84,
    height: height * 0.66,
  });
  const wall = await renderDrawing(finish(scene + frameEdges(frames, width, height, painting.palette.near)));
  const text = document(
    width,
    height,
    isTransparent ? sticker(width, height, captionOf(painting, width, height)) : captionOf(painting, width, height),
  );
  return openLayer(wall).composite([...(await hungImages(images, frames)), overlay(await renderDrawing(text))]);
}
