import type { Canvas } from '../drawing/canvas.js';
import { lighter, mix } from '../drawing/color.js';
import { ellipse, line, rectangle, verticalGradient } from '../drawing/svg.js';
import { curveAlong, hill, rollingLine } from './ground.js';
import type { Light } from './sky.js';

/** Water from `shore` to the lower edge, in pixels, with the light's reflection. */
export function water(canvas: Canvas, shore: number, light: Light): string {
  const { width, height, unit, palette } = canvas;
  const random = canvas.random.fork('reflection');
  const colors = [mix(palette.sky[2], palette.far, 0.35), palette.far, palette.near];
  const reflection = Array.from({ length: 34 }, (_, index) => {
    const depth = (index / 34) ** 1.5;
    const half = (30 + depth * 190) * unit * random.between(0.35, 1);
    const x = light.x + random.between(-40, 40) * unit * (0.3 + depth);
    const y = shore + 6 * unit + depth * (height - shore) * 0.75;
    return ellipse(x, y, half, (2 + depth * 6) * unit, palette.light, 0.62 - depth * 0.45);
  });
  return [
    `<defs>${verticalGradient('water', colors)}</defs>`,
    rectangle(0, shore, width, height - shore, 'url(#water)'),
    ...reflection,
  ].join('');
}

/** Waves `from` to `to` (0..5), nearer and larger with every one. */
export function waves(canvas: Canvas, shore: number, from: number, to: number): string {
  const { width, height, unit, random, palette } = canvas;
  let drawn = '';
  for (let index = from; index <= to; index++) {
    const level = shore + (height - shore) * (0.16 + 0.155 * index);
    const skyline = rollingLine(random.fork(`wave${index}`), width / 2.4, level, (8 + index * 4) * unit);
    const color = mix(palette.far, palette.near, 0.2 + index * 0.13);
    drawn += hill(canvas, skyline, color, 0.8);
    drawn += line(curveAlong(skyline, width), lighter(color, 0.45), (1.5 + index * 0.7) * unit, 0.5);
  }
  return drawn;
}
