import type { Canvas } from '../drawing/canvas.js';
import { darker, lighter, mix } from '../drawing/color.js';
import {
  circle,
  ellipse,
  glowGradient,
  line,
  path,
  placed,
  rectangle,
  stop,
  verticalGradient,
} from '../drawing/svg.js';

/** Sun, moon, or planet: its center and radius in pixels. */
export interface Light {
  readonly x: number;
  readonly y: number;
  readonly radius: number;
}

const CLOUD =
  'M2 0H255a34 34 0 0 1-34 34H36a34 34 0 0 1-34-34ZM2 0a58 33 0 1 1 116 0a58 33 0 1 1-116 0ZM61-24a64 50 0 1 1 128 0a64 50 0 1 1-128 0ZM135-4a60 36 0 1 1 120 0a60 36 0 1 1-120 0Z';
const BIRD = 'M-20-7Q-8-10 0 0Q8-10 20-7Q8-5 0 4Q-8-5-20-7Z';
const SPARKLE = 'M0-20L3-3L20 0L3 3L0 20L-3 3L-20 0L-3-3Z';

/** The whole sky with its light: gradient, stars at night, sun or moon with a glow. */
export function sky(canvas: Canvas, light: Light): string {
  const { width, height, palette } = canvas;
  return [
    `<defs>${verticalGradient('sky', palette.sky)}${glowGradient('glow', palette.light, palette.isDark ? 0.55 : 0.85)}</defs>`,
    rectangle(0, 0, width, height * 0.8, 'url(#sky)'),
    rectangle(0, height * 0.8 - 1, width, height * 0.2 + 1, palette.sky[2]),
    palette.isDark ? stars(canvas, 0.62) : '',
    circle(light.x, light.y, light.radius * 5, 'url(#glow)'),
    palette.isDark ? moon(canvas, light) : circle(light.x, light.y, light.radius, palette.light),
  ].join('');
}

/** Deep space with nebulae, a moon, and a ringed planet. */
export function space(canvas: Canvas, planet: Light): string {
  const { width, height, unit, palette } = canvas;
  const random = canvas.random.fork('space');
  const colors = [palette.accents[2], palette.accents[0], palette.accents[1], palette.sky[2]];
  const clouds = Array.from({ length: 7 }, (_, index) => {
    const cloud = ellipse(0, 0, random.between(380, 720), random.between(140, 300), `url(#nebula${index % 4})`, 0.8);
    return placed(random.between(0, width), random.between(0, height), unit, cloud, random.between(-35, 5));
  });
  const sparkles = Array.from({ length: 9 }, () =>
    placed(
      random.between(0, width),
      random.between(0, height * 0.6),
      random.between(0.5, 1.2) * unit,
      path(SPARKLE, '#ffffff', 0.9),
    ),
  );
  const satellite = {
    x: width * random.between(0.12, 0.26),
    y: height * random.between(0.14, 0.26),
    radius: random.between(45, 70) * unit,
  };
  return [
    `<defs>${colors.map((color, index) => glowGradient(`nebula${index}`, color, 0.42)).join('')}</defs>`,
    rectangle(0, 0, width, height, mix(palette.sky[0], '#02030c', 0.55)),
    ...clouds,
    stars(canvas, 0.9),
    ...sparkles,
    moon(canvas, satellite),
    placed(planet.x, planet.y, planet.radius / 100, ringedPlanet(canvas), random.between(-24, -10)),
  ].join('');
}

/** A planet of radius 100 around 0, 0. */
function ringedPlanet({ random, palette }: Canvas): string {
  const base = random.pick([palette.accents[0], palette.accents[1], palette.accents[2]]);
  const bands = Array.from({ length: 9 }, (_, index) => {
    const color = index % 2 === 0 ? lighter(base, random.between(0.08, 0.3)) : darker(base, random.between(0.05, 0.22));
    return rectangle(-100, -100 + index * 22.2, 200, random.between(11, 22), color);
  });
  const ring = (sweep: 0 | 1): string =>
    [
      { reach: 190, wide: 9, opacity: 0.65 },
      { reach: 168, wide: 13, opacity: 0.85 },
      { reach: 150, wide: 5, opacity: 0.5 },
    ]
      .map(({ reach, wide, opacity }) =>
        line(`M${-reach} 0A${reach} ${reach * 0.27} 0 0 ${sweep} ${reach} 0`, palette.accents[3], wide, opacity),
      )
      .join('');
  const shade = `${stop(0, '#ffffff', 0.25)}${stop(0.45, '#000000', 0)}${stop(1, '#000010', 0.78)}`;
  return [
    `<defs><radialGradient id="shade" cx="0.32" cy="0.3" r="0.8">${shade}</radialGradient>`,
    `${glowGradient('halo', lighter(base, 0.3), 0.55)}<clipPath id="planet"><circle r="100"/></clipPath></defs>`,
    circle(0, 0, 180, 'url(#halo)'),
    ring(1),
    `<g clip-path="url(#planet)">${rectangle(-100, -100, 200, 200, base)}${bands.join('')}</g>`,
    circle(0, 0, 100, 'url(#shade)'),
    ring(0),
  ].join('');
}

function moon(canvas: Canvas, { x, y, radius }: Light): string {
  const random = canvas.random.fork('moon');
  const craters = Array.from({ length: 6 }, () => {
    const angle = random.between(0, 6.28);
    const reach = random.between(0.1, 0.7) * radius;
    const size = random.between(0.06, 0.17) * radius;
    return circle(x + Math.cos(angle) * reach, y + Math.sin(angle) * reach, size, canvas.palette.far, 0.16);
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
    const brightness = random.between(0.35, 1) * (1 - y / height);
    return circle(random.between(0, width), y, size * unit, palette.accents[3], brightness);
  }).join('');
}

/** A few flat-bottomed clouds in the upper part, each in its own strip so that they don't pile up. */
export function clouds(canvas: Canvas, count: number): string {
  const { width, height, unit, palette } = canvas;
  const random = canvas.random.fork('clouds');
  const cloud = path(CLOUD, lighter(palette.sky[2], 0.55), palette.isDark ? 0.13 : 0.5);
  return Array.from({ length: count }, (_, index) => {
    const scale = random.between(0.55, 1.3) * unit;
    const left = ((index + random.between(0.05, 0.7)) / count) * width - 130 * scale;
    return placed(left, random.between(0.1, 0.34) * height, scale, cloud);
  }).join('');
}

/** A small flock. */
export function birds({ unit, random, palette }: Canvas, x: number, y: number): string {
  const flock = random.fork('birds');
  const bird = path(BIRD, palette.near, 0.75);
  return Array.from({ length: 5 }, () => {
    const left = x + flock.between(-120, 120) * unit;
    return placed(left, y + flock.between(-60, 60) * unit, flock.between(0.5, 1) * unit, bird);
  }).join('');
}

/** Rain over the whole image. */
export function rain({ width, height, unit, random }: Canvas): string {
  const drops = random.fork('rain');
  return Array.from({ length: 260 }, () => {
    const long = drops.between(24, 60);
    const drop = line(`M0 0L${-long * 0.22} ${long}`, '#ffffff', 1.6, 0.3);
    return placed(drops.between(0, 1.1) * width, drops.between(-0.05, 1) * height, unit, drop);
  }).join('');
}
