import type { Canvas } from '../drawing/canvas.js';
import { darker, lighter, mix } from '../drawing/color.js';
import { circle, glowGradient, path, placed, rectangle, verticalGradient } from '../drawing/svg.js';
import { animal } from './animal.js';
import { hill, rollingLine } from './ground.js';
import { stars } from './sky.js';
import { stillLife } from './still-life.js';

/** An animal in the grass or things on a table, in front of a large disc of light. */
export function portrait(canvas: Canvas, motif: 'animal' | 'still-life'): string {
  const { width, height, unit, palette } = canvas;
  const disc = mix(palette.sky[2], palette.light, 0.55);
  const subject =
    motif === 'animal'
      ? placed(width / 2, height * 0.43, 1.35 * unit, animal(canvas)) + grass(canvas)
      : table(canvas) + placed(width / 2, height * 0.66 + 85 * unit, unit, stillLife(canvas));
  return [
    `<defs>${verticalGradient('sky', [palette.sky[0], palette.sky[1]])}${glowGradient('glow', disc, 0.7)}</defs>`,
    rectangle(0, 0, width, height, 'url(#sky)'),
    palette.isDark ? stars(canvas, 0.9) : confetti(canvas),
    circle(width / 2, height * 0.44, 640 * unit, 'url(#glow)'),
    circle(width / 2, height * 0.44, 345 * unit, disc, motif === 'animal' ? 1 : 0.55),
    subject,
  ].join('');
}

function confetti({ width, height, unit, random, palette }: Canvas): string {
  const dots = random.fork('confetti');
  return Array.from({ length: 46 }, () => {
    const color = dots.pick(palette.accents);
    return circle(dots.between(0, width), dots.between(0, height), dots.between(5, 22) * unit, color, 0.22);
  }).join('');
}

function grass(canvas: Canvas): string {
  const { width, height, unit, palette } = canvas;
  // The shoulders end 567 units below the middle of the face.
  const level = Math.min(height * 0.8, height * 0.43 + 520 * unit);
  const skyline = rollingLine(canvas.random.fork('ground'), width, level, 26 * unit);
  const random = canvas.random.fork('grass');
  const blades = Array.from({ length: Math.round((width / unit / 1000) * 36) }, () => {
    const x = random.between(0, width);
    const lean = random.between(-40, 40);
    const blade = `M-18 40Q${lean * 0.4 - 18}-60 ${lean}-100Q${lean * 0.4 + 18}-40 18 40Z`;
    const color = mix(palette.near, random.pick(palette.accents), 0.28);
    return placed(x, skyline(x) + 10 * unit, random.between(0.5, 1) * unit, path(blade, color));
  });
  return blades.join('') + hill(canvas, skyline, palette.near);
}

function table({ width, height, unit, palette }: Canvas): string {
  const wood = mix('#8a5a3b', palette.near, 0.25);
  const top = height * 0.66;
  return [
    `<defs>${verticalGradient('table', [lighter(wood, 0.22), darker(wood, 0.3)])}</defs>`,
    rectangle(0, top, width, height - top, 'url(#table)'),
    rectangle(0, top, width, 5 * unit, lighter(wood, 0.4), 0.6),
  ].join('');
}
