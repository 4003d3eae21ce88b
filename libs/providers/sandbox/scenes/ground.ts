import type { Canvas } from '../drawing/canvas.js';
import { mix } from '../drawing/color.js';
import type { Random } from '../drawing/random.js';
import { curveThrough, path, px, rectangle, stop, type Point } from '../drawing/svg.js';

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

/** Peaks made by repeatedly halving a line, each time with half the displacement. */
export function mountainPoints(random: Random, width: number, level: number, height: number): Point[] {
  let heights = [
    random.between(0, 0.4),
    random.between(0.6, 1),
    random.between(0.1, 0.5),
    random.between(0.5, 1),
    random.between(0, 0.5),
  ];
  for (let swing = 0.32; heights.length < 200; swing *= 0.55) {
    heights = heights.flatMap((value, index) => {
      const next = heights[index + 1];
      return next === undefined ? [value] : [value, (value + next) / 2 + random.between(-swing, swing)];
    });
  }
  return heights.map((value, index) => ({ x: (index * width) / (heights.length - 1), y: level - value * height }));
}

/** Ground from a soft line down to the lower edge. */
export function hill(canvas: Canvas, skyline: Skyline, fill: string): string {
  const step = canvas.width / 24;
  const points = Array.from({ length: 27 }, (_, index) => ({ x: (index - 1) * step, y: skyline((index - 1) * step) }));
  return path(`${curveThrough(points)}V${px(canvas.height)}H${px(-step)}Z`, fill);
}

/** Rock from a jagged line down to the lower edge. */
export function mountains(canvas: Canvas, points: readonly Point[], fill: string): string {
  const edge = points.map(({ x, y }) => `L${px(x)} ${px(y)}`).join('');
  return path(`M0 ${px(canvas.height)}${edge}V${px(canvas.height)}Z`, fill);
}

/** The color of ground layer `index` of `count`, from far to near. */
export function layerColor(canvas: Canvas, index: number, count: number): string {
  return mix(canvas.palette.far, canvas.palette.near, (index + 0.35) / count);
}

/** A band of haze that hides the bottom of whatever stands behind it. */
export function mist(canvas: Canvas, y: number, depth: number, opacity: number): string {
  const id = `mist${Math.round(y)}`;
  const color = canvas.palette.sky[2];
  const stops = stop(0, color, 0) + stop(0.75, color, opacity) + stop(1, color, 0);
  return `<defs><linearGradient id="${id}" x1="0" y1="0" x2="0" y2="1">${stops}</linearGradient></defs>${rectangle(0, y - depth, canvas.width, depth * 1.3, `url(#${id})`)}`;
}
