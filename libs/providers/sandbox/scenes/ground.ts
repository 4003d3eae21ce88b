import type { Canvas } from '../drawing/canvas.js';
import { darker, lighter, mix } from '../drawing/color.js';
import type { Random } from '../drawing/random.js';
import { curveThrough, path, polygon, px, rectangle, stop, type Point } from '../drawing/svg.js';

/** The height of a soft hill line at any x, in pixels. */
export type Skyline = (x: number) => number;

/** A rolling line around `level`, `swing` pixels up and down. */
export function rollingLine(random: Random, width: number, level: number, swing: number): Skyline {
  const waves = [1.1, 2.3, 4.7].map((frequency) => ({
    frequency: (frequency * random.between(0.75, 1.3) * Math.PI) / width,
    phase: random.between(0, 6.28),
    size: swing / frequency,
  }));
  return (x) => level + waves.reduce((sum, wave) => sum + Math.sin(x * wave.frequency + wave.phase) * wave.size, 0);
}

/** Path data of a skyline across the whole image and beyond its edges. */
export function curveAlong(skyline: Skyline, width: number): string {
  const step = width / 30;
  return curveThrough(
    Array.from({ length: 33 }, (_, index) => ({ x: (index - 1) * step, y: skyline((index - 1) * step) })),
  );
}

/** Ground from a soft line down to the lower edge. */
export function hill({ width, height }: Canvas, skyline: Skyline, fill: string, opacity = 1): string {
  return path(`${curveAlong(skyline, width)}V${px(height)}H${px(-width / 30)}Z`, fill, opacity);
}

/** The shaded side of a dune. */
export function duneShade({ width, height, random }: Canvas, skyline: Skyline, color: string): string {
  const x = random.fork(color).between(0.25, 0.75) * width;
  const y = skyline(x);
  const reach = height * 0.3;
  const at = (right: number, down: number): string => `${px(x + right * reach)} ${px(y + down * reach)}`;
  const side = `M${at(0, 0)}Q${at(0.2, 0.4)} ${at(-0.5, 1)}L${at(1.8, 1)}Q${at(0.7, 0.35)} ${at(0, 0)}Z`;
  return path(side, darker(color, 0.3), 0.35);
}

/** Two mountain ranges, the far one with snow, from `level` in pixels up. */
export function mountains(canvas: Canvas, level: number): string {
  const { width, height, random, palette } = canvas;
  const far = peaks(random.fork('back'), width, level, height * 0.3);
  const near = peaks(random.fork('front'), width, level + height * 0.08, height * 0.24);
  const rock = (points: readonly Point[], fill: string): string =>
    polygon([...points, { x: width, y: height }, { x: 0, y: height }], fill);
  return [
    rock(far, palette.far),
    snow(random.fork('snow'), far, level - height * 0.156, lighter(palette.far, 0.72)),
    rock(near, mix(palette.far, palette.near, 0.16)),
  ].join('');
}

/** Peaks made by repeatedly halving a line, each time with half the displacement. */
function peaks(random: Random, width: number, level: number, height: number): Point[] {
  const steep = [random.between(0.6, 1), random.between(0.1, 0.5), random.between(0.5, 1)];
  let heights = [random.between(0, 0.4), ...steep, random.between(0, 0.5)];
  for (let swing = 0.32; heights.length < 200; swing *= 0.55) {
    heights = heights.flatMap((value, index) => {
      const next = heights[index + 1];
      return next === undefined ? [value] : [value, (value + next) / 2 + random.between(-swing, swing)];
    });
  }
  return heights.map((value, index) => ({ x: (index * width) / (heights.length - 1), y: level - value * height }));
}

/** Snow above a line, with a ragged lower edge. */
function snow(random: Random, points: readonly Point[], line: number, fill: string): string {
  const ragged = points.map(({ x, y }) => ({
    x,
    y: Math.max(y, Math.min(y + (line - y) * random.between(0.45, 0.8), line)),
  }));
  return polygon([...points, ...ragged.reverse()], fill, 0.85);
}

/** A band of haze that hides the bottom of whatever stands behind it. */
export function mist({ width, palette }: Canvas, y: number, depth: number, opacity: number): string {
  const id = `mist${Math.round(y)}`;
  const color = palette.sky[2];
  const stops = stop(0, color, 0) + stop(0.75, color, opacity) + stop(1, color, 0);
  return `<defs><linearGradient id="${id}" x1="0" y1="0" x2="0" y2="1">${stops}</linearGradient></defs>${rectangle(0, y - depth, width, depth * 1.3, `url(#${id})`)}`;
}
