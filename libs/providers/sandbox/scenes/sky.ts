import type { Canvas } from '../canvas.js';
import { circle, ellipse, glowGradient, path, rectangle, verticalGradient } from '../svg.js';

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
    const [angle, distance, size] = [random.between(0, 6.28), random.between(0.1, 0.7), random.between(0.06, 0.17)];
    const reach = distance * radius;
    return circle(x + Math.cos(angle) * reach, y + Math.sin(angle) * reach, size * radius, canvas.palette.far, 0.16);
  });
  return circle(x, y, radius, canvas.palette.light) + craters.join('');
}

/** Stars over the upper `share` of the picture, fewer towards its lower edge. */
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

/** A few flat-bottomed clouds in the upper part. */
export function clouds(canvas: Canvas, count: number): string {
  const { width, height, unit } = canvas;
  const random = canvas.random.fork('clouds');
  return Array.from({ length: count }, () => {
    const scale = random.between(0.6, 1.5) * unit;
    return cloud(
      random.between(-0.05, 0.95) * width,
      random.between(0.1, 0.36) * height,
      scale,
      canvas.palette.isDark ? 0.14 : 0.6,
    );
  }).join('');
}

function cloud(x: number, y: number, scale: number, opacity: number): string {
  const puffs = [
    ellipse(x + 60 * scale, y, 60 * scale, 34 * scale, '#ffffff'),
    ellipse(x + 125 * scale, y - 24 * scale, 64 * scale, 50 * scale, '#ffffff'),
    ellipse(x + 195 * scale, y - 4 * scale, 62 * scale, 36 * scale, '#ffffff'),
    `<rect x="${x}" y="${y}" width="${258 * scale}" height="${34 * scale}" rx="${17 * scale}" fill="#ffffff"/>`,
  ];
  return `<g opacity="${opacity}">${puffs.join('')}</g>`;
}

/** A small flock. */
export function birds(canvas: Canvas, x: number, y: number): string {
  const random = canvas.random.fork('birds');
  return Array.from({ length: 5 }, () => {
    const [left, top] = [x + random.between(-120, 120) * canvas.unit, y + random.between(-60, 60) * canvas.unit];
    const span = random.between(10, 20) * canvas.unit;
    const wings = `M${left - span} ${top - span * 0.35}Q${left - span * 0.4} ${top - span * 0.5} ${left} ${top}Q${left + span * 0.4} ${top - span * 0.5} ${left + span} ${top - span * 0.35}Q${left + span * 0.4} ${top - span * 0.25} ${left} ${top + span * 0.18}Q${left - span * 0.4} ${top - span * 0.25} ${left - span} ${top - span * 0.35}Z`;
    return path(wings, canvas.palette.near, 0.75);
  }).join('');
}
