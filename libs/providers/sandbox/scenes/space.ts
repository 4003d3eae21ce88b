import { mentions, type Canvas, type Scene } from '../drawing/canvas.js';
import { darker, lighter, mix } from '../drawing/color.js';
import { circle, ellipse, glowGradient, path, polygon, px, rectangle, stop } from '../drawing/svg.js';
import { stars } from './sky.js';

/** A ringed planet, moons, nebulae, and a rocket. */
export const space: Scene = (canvas) => {
  const { width, height, unit, random, palette } = canvas;
  const planet = {
    x: width * random.between(0.52, 0.66),
    y: height * random.between(0.38, 0.46),
    radius: random.between(200, 250) * unit,
  };
  const ground = mix(palette.sky[0], '#02030c', 0.55);
  const rocketWanted = mentions(canvas, 'rocket', 'spaceship', 'astronaut', '火箭') || random.chance(0.4);
  return [
    rectangle(0, 0, width, height, ground),
    nebulae(canvas),
    stars({ ...canvas, height: height * 1.5 }, 0.72),
    sparkles(canvas),
    moonlet(
      canvas,
      width * random.between(0.12, 0.26),
      height * random.between(0.16, 0.28),
      random.between(48, 80) * unit,
    ),
    planetWithRing(canvas, planet.x, planet.y, planet.radius),
    moonlet(canvas, planet.x + planet.radius * 1.25, planet.y - planet.radius * 1.1, 34 * unit),
    rocketWanted ? rocket(canvas, width * 0.26, height * 0.52, 1.05 * unit) : '',
    horizon(canvas),
  ].join('');
};

function nebulae(canvas: Canvas): string {
  const { width, height, unit, palette } = canvas;
  const random = canvas.random.fork('nebulae');
  const colors = [palette.accents[2], palette.accents[0], palette.accents[1], palette.sky[2]];
  const glows = colors.map((color, index) => glowGradient(`nebula${index}`, color, 0.42)).join('');
  const clouds = Array.from({ length: 7 }, (_, index) => {
    const angle = random.between(-35, 5);
    const x = random.between(0, width);
    const y = random.between(0, height);
    return `<g transform="rotate(${angle.toFixed(1)} ${px(x)} ${px(y)})">${ellipse(x, y, random.between(380, 720) * unit, random.between(140, 300) * unit, `url(#nebula${index % colors.length})`, 0.8)}</g>`;
  });
  return `<defs>${glows}</defs>${clouds.join('')}`;
}

function sparkles(canvas: Canvas): string {
  const random = canvas.random.fork('sparkles');
  return Array.from({ length: 9 }, () => {
    const x = random.between(0, canvas.width);
    const y = random.between(0, canvas.height * 0.75);
    const long = random.between(10, 26) * canvas.unit;
    const thin = long * 0.11;
    const points = [0, 1, 2, 3, 4, 5, 6, 7].map((corner) => {
      const reach = corner % 2 === 0 ? long : thin * 1.4;
      return { x: x + Math.cos((corner * Math.PI) / 4) * reach, y: y + Math.sin((corner * Math.PI) / 4) * reach };
    });
    return polygon(points, '#ffffff', 0.9);
  }).join('');
}

function planetWithRing(canvas: Canvas, x: number, y: number, radius: number): string {
  const { palette } = canvas;
  const random = canvas.random.fork('planet');
  const base = random.pick([palette.accents[0], palette.accents[1], palette.accents[2]]);
  const tilt = random.between(-24, -10);
  const bands = Array.from({ length: 9 }, (_, index) => {
    const top = y - radius + (index * 2 * radius) / 9;
    return rectangle(
      x - radius,
      top,
      radius * 2,
      (radius * 2 * random.between(0.5, 1)) / 9,
      index % 2 === 0 ? lighter(base, random.between(0.08, 0.3)) : darker(base, random.between(0.05, 0.22)),
    );
  });
  const half = (front: boolean): string => {
    const sweep = front ? 0 : 1;
    const rings = [
      { reach: 1.9, wide: 0.09, opacity: 0.65 },
      { reach: 1.68, wide: 0.13, opacity: 0.85 },
      { reach: 1.5, wide: 0.05, opacity: 0.5 },
    ];
    const arcs = rings.map(({ reach, wide, opacity }, index) => {
      const data = `M${px(x - radius * reach)} ${px(y)}A${px(radius * reach)} ${px(radius * reach * 0.27)} 0 0 ${sweep} ${px(x + radius * reach)} ${px(y)}`;
      const color = lighter(palette.accents[3], index * 0.2);
      return `<path d="${data}" fill="none" stroke="${color}" stroke-width="${px(radius * wide)}" stroke-opacity="${opacity}"/>`;
    });
    return arcs.join('');
  };
  const shade = `<radialGradient id="shade" cx="0.32" cy="0.3" r="0.8">${stop(0, '#ffffff', 0.25)}${stop(0.45, '#000000', 0)}${stop(1, '#000010', 0.78)}</radialGradient>`;
  return [
    `<defs>${shade}${glowGradient('halo', lighter(base, 0.3), 0.55)}<clipPath id="planet"><circle cx="${px(x)}" cy="${px(y)}" r="${px(radius)}"/></clipPath></defs>`,
    circle(x, y, radius * 1.8, 'url(#halo)'),
    `<g transform="rotate(${tilt.toFixed(1)} ${px(x)} ${px(y)})">${half(false)}`,
    `<g clip-path="url(#planet)">${rectangle(x - radius, y - radius, radius * 2, radius * 2, base)}${bands.join('')}</g></g>`,
    circle(x, y, radius, 'url(#shade)'),
    `<g transform="rotate(${tilt.toFixed(1)} ${px(x)} ${px(y)})">${half(true)}</g>`,
  ].join('');
}

function moonlet(canvas: Canvas, x: number, y: number, radius: number): string {
  const color = mix(canvas.palette.accents[3], canvas.palette.far, 0.35);
  return [
    circle(x, y, radius, color),
    circle(x - radius * 0.3, y - radius * 0.2, radius * 0.22, darker(color, 0.22), 0.7),
    circle(x + radius * 0.25, y + radius * 0.35, radius * 0.16, darker(color, 0.22), 0.7),
    circle(x + radius * 0.05, y - radius * 0.5, radius * 0.1, darker(color, 0.22), 0.7),
    path(
      `M${px(x)} ${px(y - radius)}A${px(radius)} ${px(radius)} 0 0 1 ${px(x)} ${px(y + radius)}A${px(radius * 1.6)} ${px(radius * 1.6)} 0 0 0 ${px(x)} ${px(y - radius)}Z`,
      '#000010',
      0.38,
    ),
  ].join('');
}

function rocket(canvas: Canvas, x: number, y: number, scale: number): string {
  const { palette } = canvas;
  const at = (dx: number, dy: number): string => `${px(x + dx * scale)} ${px(y + dy * scale)}`;
  const flame = (wide: number, long: number, fill: string): string =>
    path(
      `M${at(-wide, 88)}Q${at(-wide * 1.1, 88 + long * 0.4)} ${at(0, 88 + long)}Q${at(wide * 1.1, 88 + long * 0.4)} ${at(wide, 88)}Z`,
      fill,
    );
  return [
    `<g transform="rotate(32 ${px(x)} ${px(y)})">`,
    flame(30, 150, palette.accents[0]),
    flame(18, 96, palette.accents[1]),
    path(`M${at(-42, 40)}Q${at(-92, 70)} ${at(-84, 118)}L${at(-34, 88)}Z`, palette.accents[0]),
    path(`M${at(42, 40)}Q${at(92, 70)} ${at(84, 118)}L${at(34, 88)}Z`, palette.accents[0]),
    path(
      `M${at(0, -150)}C${at(56, -92)} ${at(62, 20)} ${at(36, 90)}H${px(x - 36 * scale)}C${at(-62, 20)} ${at(-56, -92)} ${at(0, -150)}Z`,
      '#f6f3ee',
    ),
    path(`M${at(0, -150)}C${at(56, -92)} ${at(62, 20)} ${at(36, 90)}H${px(x)}Z`, '#000020', 0.12),
    path(
      `M${at(0, -150)}C${at(24, -126)} ${at(38, -100)} ${at(44, -76)}H${px(x - 44 * scale)}C${at(-38, -100)} ${at(-24, -126)} ${at(0, -150)}Z`,
      palette.accents[0],
    ),
    circle(x, y - 20 * scale, 27 * scale, palette.accents[1]),
    circle(x, y - 20 * scale, 19 * scale, mix(palette.sky[0], '#6ec6ff', 0.5)),
    '</g>',
  ].join('');
}

/** The dark curve of a planet in the foreground. */
function horizon(canvas: Canvas): string {
  const { width, height, unit, palette } = canvas;
  const reach = Math.max(width, height) * 1.6;
  const top = height * 0.84;
  return (
    circle(width / 2, top + reach, reach + 7 * unit, palette.accents[1], 0.5) +
    circle(width / 2, top + reach, reach, darker(palette.sky[0], 0.5))
  );
}
