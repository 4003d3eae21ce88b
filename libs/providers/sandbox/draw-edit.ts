import type { Sharp } from 'sharp';
import { openDrawing } from '#images/drawing.js';
import type { ProviderInputImage } from '../image-provider.js';
import { backdropOf, canvasOf, captionOf, document, type Painting } from './painting.js';
import { frameEdges, layOutFrames } from './frames.js';
import { hungImages, openLayer, overlay, render, renderDrawing, renderInput, type Pixels } from './layers.js';
import { circle, glowGradient, line, px, rectangle, verticalGradient } from './drawing/svg.js';

/** An edit without a mask, which changes the whole first image. */
export interface EditOrder {
  readonly painting: Painting;
  readonly width: number;
  readonly height: number;
  readonly first: ProviderInputImage;
  readonly others: readonly ProviderInputImage[];
  /** Drawn over the edit, to show that it arrived. */
  readonly markup?: ProviderInputImage | undefined;
  readonly isTransparent: boolean;
}

/** Draws an edit without a mask: a new scene behind a cut-out image, or new colors and light for any other. */
export async function drawEdit(order: EditOrder): Promise<Sharp> {
  const { painting, width, height, first, others, markup, isTransparent } = order;
  const original = await renderInput(first, width, height);
  const isCutOut = hasTransparency(original);
  const base =
    isCutOut && !isTransparent
      ? openDrawing(document(width, height, backdropOf(painting, width, height)))
      : openLayer(await recolored(original, painting));
  const laidOver =
    isCutOut && !isTransparent ? [overlay(original)] : [overlay(await renderDrawing(light(order)), { blend: 'atop' })];
  const frames = layOutFrames(others, {
    left: width * 0.04,
    top: height * 0.04,
    width: width * 0.92,
    height: height * 0.2,
  });
  const text = frameEdges(frames, width, height, painting.palette.near) + captionOf(painting, width, height, !isCutOut);
  laidOver.push(overlay(await renderDrawing(document(width, height, text))), ...(await hungImages(others, frames)));
  if (markup !== undefined) laidOver.push(overlay(await renderInput(markup, width, height)));
  if (isTransparent && !isCutOut)
    laidOver.push(overlay(await renderDrawing(roundedShape(width, height)), { blend: 'dest-in' }));
  return base.composite(laidOver);
}

function hasTransparency({ data }: Pixels): boolean {
  for (let at = 3; at < data.length; at += 4) if (data[at] !== 255) return true;
  return false;
}

/** Shifts all colors towards the palette, from its darkest ground to its light. */
function recolored(original: Pixels, { palette }: Painting): Promise<Pixels> {
  const share = 0.62;
  const brightness = [0.299, 0.587, 0.114] as const;
  const dark = channels(palette.near);
  const bright = channels(palette.sky[2]);
  const rows = [0, 1, 2].map((row) => {
    const reach = ((bright[row] ?? 255) - (dark[row] ?? 0)) / 255;
    return brightness.map((weight, column) => share * reach * weight + (row === column ? 1 - share : 0));
  });
  const [red, green, blue] = rows as [number[], number[], number[]];
  const triple = (row: number[]): [number, number, number] => [row[0] ?? 0, row[1] ?? 0, row[2] ?? 0];
  // Render before adding overlays: a single pipeline would shift their colors too.
  const shifted = openLayer(original)
    .recomb([triple(red), triple(green), triple(blue)])
    .linear([1, 1, 1, 1], [...dark.map((value) => value * share), 0]);
  return render(shifted);
}

function channels(color: string): number[] {
  return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
}

/** Evening light, floating sparks, and a drawn border. */
function light({ painting, width, height }: EditOrder): string {
  const { palette, random, unit } = canvasOf(painting, width, height);
  const sparks = Array.from({ length: 60 }, () =>
    circle(
      random.between(0, width),
      random.between(0, height),
      random.next() ** 3 * 34 * unit + 4 * unit,
      random.pick([palette.light, palette.accents[0], palette.accents[1]]),
      random.between(0.15, 0.6),
    ),
  );
  const inset = 26 * unit;
  return document(
    width,
    height,
    [
      `<defs>${verticalGradient('tone', [palette.sky[0], palette.sky[1], palette.near])}${glowGradient('glow', palette.light, 0.9)}</defs>`,
      rectangle(0, 0, width, height, 'url(#tone)', 0.26),
      circle(width * random.between(0.1, 0.9), 0, 620 * unit, 'url(#glow)', 0.85),
      ...sparks,
      line(
        `M${px(inset)} ${px(inset)}H${px(width - inset)}V${px(height - inset)}H${px(inset)}Z`,
        palette.light,
        5 * unit,
        0.85,
      ),
    ].join(''),
  );
}

function roundedShape(width: number, height: number): string {
  const inset = Math.min(width, height) * 0.05;
  return document(
    width,
    height,
    `<rect x="${px(inset)}" y="${px(inset)}" width="${px(width - inset * 2)}" height="${px(height - inset * 2)}" rx="${px(inset * 3)}" fill="#fff"/>`,
  );
}
