import type { Canvas } from '../drawing/canvas.js';
import { lighter } from '../drawing/color.js';
import { circle, glowGradient, path, px, rectangle, verticalGradient } from '../drawing/svg.js';

/** The whole sky with its light: gradient, stars at night, sun or moon with a glow. */
export function sky(canvas: Canvas, light: { x: number; y: number; radius: number }): string {
  const { width, height, palette } = canvas;
  const gradient = verticalGradient('sky', [palette.sky[0], palette.sky[1], palette.sky[2]]);
  return [
    `<defs>${gradient}${glowGradient('glow', palette.light, palette.isDark ? 0.55 : 0.85)}</defs>`,
    rectangle(0, 0, width, height * 0.8, 'url(#sky)'),
    rectangle(0, height * 0.8 - 1, width, height * 0.2 + 1, palette.sky[2]),
    palette.isDark ? stars(canvas, 0.62) : '',
    circle(light.x, light.y, light.radius * 5, 'url(#glow)'),
    palette.isDark ? moon(canvas, light) : circle(light.x, light.y, light.radius, palette.light),
  ].join('');
}

function moon(canvas: Canvas, { x, y, radius }: { x: number; y: number; radius: number }): string {
  const random = canvas.random.fork('moon');
  const craters = Array.from({ length: 6 }, () => {
    const angle = random.between(0, 6.28);
    const distance = random.between(0.1, 0.7);
    const size = random.between(0.06, 0.17);
    const reach = distance * radius;
    return circle(x + Math.cos(angle) * reach, y + Math.sin(angle) * reach, size * radius, canvas.palette.far, 0.16);
  });
  return circle(x, y, radius, canvas.palette.light) + craters.join('');
}

/** Stars over the upper `share` of the image, fewer towards its lower edge. */
export function stars(canvas: Canvas, share: number): string {
  const { width, height, unit, palette } = canvas;
  const random = canvas.random.fork('stars');
  const count = Math.round(Math.min(420, (150 * width * height) / (unit * 1000) ** 2));
  return Array.from({ length: count }, () => {
    const y = random.next() ** 1.4 * height * share;
    const size = random.next() ** 5 * 2.6 + 0.7;
    return circle(
      random.between(0, width),
      y,
      size * unit,
      palette.accents[3],
      random.between(0.35, 1) * (1 - y / height),
    );
  }).join('');
}

/** A few flat-bottomed clouds in the upper part, each in its own strip so that they don't pile up. */
export function clouds(canvas: Canvas, count: number): string {
  const { width, height, unit, palette } = canvas;
  const random = canvas.random.fork('clouds');
  const fill = lighter(palette.sky[2], 0.55);
  return Array.from({ length: count }, (_, index) => {
    const scale = random.between(0.55, 1.3) * unit;
    const left = ((index + random.between(0.05, 0.7)) / count) * width - 130 * scale;
    return path(cloud(left, random.between(0.1, 0.34) * height, scale), fill, palette.isDark ? 0.13 : 0.5);
  }).join('');
}

/** One outline of three puffs on a flat base. */
function cloud(x: number, y: number, scale: number): string {
  const puff = (dx: number, dy: number, wide: number, tall: number): string =>
    `M${px(x + (dx - wide) * scale)} ${px(y + dy * scale)}a${px(wide * scale)} ${px(tall * scale)} 0 1 1 ${px(wide * 2 * scale)} 0a${px(wide * scale)} ${px(tall * scale)} 0 1 1 ${px(-wide * 2 * scale)} 0Z`;
  const round = px(34 * scale);
  const base = `M${px(x + 2 * scale)} ${px(y)}H${px(x + 255 * scale)}a${round} ${round} 0 0 1 -${round} ${round}H${px(x + 36 * scale)}a${round} ${round} 0 0 1 -${round} -${round}Z`;
  return base + puff(60, 0, 58, 33) + puff(125, -24, 64, 50) + puff(195, -4, 60, 36);
}

/** A small flock. */
export function birds(canvas: Canvas, x: number, y: number): string {
  const random = canvas.random.fork('birds');
  return Array.from({ length: 5 }, () => {
    const left = x + random.between(-120, 120) * canvas.unit;
    const top = y + random.between(-60, 60) * canvas.unit;
    const span = random.between(10, 20) * canvas.unit;
    const wings = `M${left - span} ${top - span * 0.35}Q${left - span * 0.4} ${top - span * 0.5} ${left} ${top}Q${left + span * 0.4} ${top - span * 0.5} ${left + span} ${top - span * 0.35}Q${left + span * 0.4} ${top - span * 0.25} ${left} ${top + span * 0.18}Q${left - span * 0.4} ${top - span * 0.25} ${left - span} ${top - span * 0.35}Z`;
    return path(wings, canvas.palette.near, 0.75);
  }).join('');
}
