import type { Canvas } from '../drawing/canvas.js';
import { lighter, mix } from '../drawing/color.js';
import {
  circle,
  curveThrough,
  glowGradient,
  line,
  path,
  px,
  rectangle,
  stop,
  verticalGradient,
} from '../drawing/svg.js';

const RIBBONS = 9;
const KNOTS = 8;

/** Bands of silk that flow across a soft sky. */
export function abstract({ width, height, unit, random, palette }: Canvas): string {
  const phase = random.between(0, 6.28);
  const swell = random.between(0.1, 0.17) * height;
  const tilt = random.between(-0.22, 0.22) * height;
  const colors = [palette.accents[0], palette.sky[1], palette.accents[1], palette.accents[2], palette.far];
  const bands = Array.from({ length: RIBBONS }, (_, index) => {
    const color = mix(colors[index % colors.length] ?? palette.far, palette.near, index / (RIBBONS * 2.2));
    const shades = [lighter(color, 0.35), color, mix(color, palette.near, 0.45)];
    const stops = shades.map((shade, at) => stop(at / 2, shade, 0.95)).join('');
    const edge = curveThrough(
      Array.from({ length: KNOTS + 2 }, (__, knot) => ({
        x: ((knot - 0.5) * width) / KNOTS,
        y:
          height * (0.2 + (index * 0.72) / RIBBONS) +
          tilt * (knot / KNOTS - 0.5) +
          Math.sin(knot * 0.95 + phase + index * 0.55) * swell * (0.55 + 0.4 * Math.sin(index * 0.8 + phase)),
      })),
    );
    return [
      `<defs><linearGradient id="silk${index}" x1="0" y1="0" x2="1" y2="0.35">${stops}</linearGradient></defs>`,
      line(edge, '#000000', 22 * unit, 0.07),
      path(`${edge}V${px(height)}H0Z`, `url(#silk${index})`),
      line(edge, '#ffffff', 3.5 * unit, 0.55),
    ].join('');
  });
  const x = width * random.between(0.25, 0.75);
  return [
    `<defs>${verticalGradient('air', palette.sky)}${glowGradient('glow', palette.light, 0.9)}</defs>`,
    rectangle(0, 0, width, height, 'url(#air)'),
    circle(x, height * 0.2, 480 * unit, 'url(#glow)'),
    circle(x, height * 0.2, 90 * unit, palette.light),
    ...bands,
  ].join('');
}
