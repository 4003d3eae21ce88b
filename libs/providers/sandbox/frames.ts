import { unitOf } from './drawing/canvas.js';
import { rectangle } from './drawing/svg.js';

/** Position and size of a framed image, in whole pixels. */
export interface Frame {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

interface Area {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Places images side by side in an area, each as large as possible without changing its proportions. */
export function layOutFrames(images: readonly { width: number; height: number }[], area: Area): Frame[] {
  const columns = Math.min(
    images.length,
    Math.max(1, Math.ceil(Math.sqrt((images.length * area.width) / area.height))),
  );
  const rows = Math.ceil(images.length / columns);
  const wide = area.width / columns;
  const tall = area.height / rows;
  return images.map((image, index) => {
    const scale = Math.min((wide * 0.84) / image.width, (tall * 0.84) / image.height);
    const width = Math.max(1, Math.round(image.width * scale));
    const height = Math.max(1, Math.round(image.height * scale));
    const row = Math.floor(index / columns);
    const inRow = row === rows - 1 ? images.length - row * columns : columns;
    const start = area.left + (area.width - inRow * wide) / 2;
    return {
      left: Math.round(start + ((index % columns) + 0.5) * wide - width / 2),
      top: Math.round(area.top + (row + 0.5) * tall - height / 2),
      width,
      height,
    };
  });
}

/** The wooden frames, mats, and shadows, as SVG elements; the images are drawn on top. */
export function frameEdges(frames: readonly Frame[], width: number, height: number, wood: string): string {
  const unit = unitOf(width, height);
  return frames
    .map((frame) => {
      const mat = Math.max(2, Math.min(frame.width, frame.height) * 0.05);
      const edge = mat * 0.55;
      const around = (by: number, fill: string, opacity = 1): string =>
        rectangle(frame.left - by, frame.top - by, frame.width + by * 2, frame.height + by * 2, fill, opacity);
      const shadows = [9, 6, 3].map(
        (reach) =>
          `<g transform="translate(${reach * unit} ${reach * 1.6 * unit})">${around(mat + edge, '#000000', 0.13)}</g>`,
      );
      return shadows.join('') + around(mat + edge, wood) + around(mat, '#fbf8f2');
    })
    .join('');
}
