import type { OverlayOptions, Sharp } from 'sharp';
import { openDrawing } from '#images/drawing.js';
import { withImageSlot, openImage, openPixels } from '#images/sharp.js';
import type { ProviderInputImage } from '../image-provider.js';
import type { Frame } from './frames.js';

/** Uncompressed RGBA, four bytes per pixel, row by row. */
export interface Pixels {
  readonly data: Buffer;
  readonly width: number;
  readonly height: number;
}

/** Renders an SVG document that the sandbox created. */
export function renderDrawing(svg: string): Promise<Pixels> {
  return render(openDrawing(svg));
}

/** Renders a pipeline to pixels. */
export async function render(pipeline: Sharp): Promise<Pixels> {
  const { data, info } = await withImageSlot(() => pipeline.ensureAlpha().raw().toBuffer({ resolveWithObject: true }));
  return { data, width: info.width, height: info.height };
}

/** Decodes an input to exactly this size: scaled to cover and cropped, if it differs. */
export function renderInput(
  image: ProviderInputImage,
  width: number,
  height: number,
  kernel: 'lanczos3' | 'nearest' = 'lanczos3',
): Promise<Pixels> {
  const opened = openImage(image.bytes);
  if (image.width === width && image.height === height) return render(opened);
  return render(opened.resize(width, height, { fit: 'cover', position: 'center', kernel }));
}

/** Opens pixels as a pipeline. */
export function openLayer({ data, width, height }: Pixels): Sharp {
  return openPixels(data, width, height, 4);
}

/** Converts pixels to an overlay for an image. */
export function overlay(
  { data, width, height }: Pixels,
  placed: Omit<OverlayOptions, 'input' | 'raw'> = {},
): OverlayOptions {
  return { input: data, raw: { width, height, channels: 4 }, ...placed };
}

/** Overlays of images in their frames. */
export function hungImages(images: readonly ProviderInputImage[], frames: readonly Frame[]): Promise<OverlayOptions[]> {
  return Promise.all(
    frames.map(async (frame, index) => {
      const image = images[index];
      if (image === undefined) throw new Error('A frame hangs without its image.');
      const pixels = await renderInput(image, frame.width, frame.height);
      return overlay(pixels, { left: frame.left, top: frame.top });
    }),
  );
}
