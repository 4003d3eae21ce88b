import { mentions, type Canvas, type Scene } from '../drawing/canvas.js';
import { darker, lighter, mix } from '../drawing/color.js';
import { circle, path, polygon, px, rectangle, type Point } from '../drawing/svg.js';
import { hill, layerColor, mist, mountainPoints, mountains, rollingLine, type Skyline } from './ground.js';
import { birds, clouds, sky } from './sky.js';
import { pinesAlong, roundTree } from './trees.js';

/** Mountains behind hills, with details that the prompt names: snow, dunes, a house, a balloon. */
export const landscape: Scene = (canvas) => {
  const { width, height, unit, random } = canvas;
  const isDesert = mentions(canvas, 'desert', 'dune', 'sahara', '沙');
  const light = {
    x: width * random.between(0.28, 0.72),
    y: height * random.between(0.26, 0.36),
    radius: random.between(62, 95) * unit,
  };
  const parts = [sky(canvas, light), clouds(canvas, isDesert ? 0 : 4), birds(canvas, width - light.x, light.y * 0.9)];
  if (!isDesert) parts.push(range(canvas, 'back', 0.56, 0.3, 0), range(canvas, 'front', 0.64, 0.24, 1));
  const hills = [0.56, 0.66, 0.75, 0.85].map((level, index): Skyline => {
    return rollingLine(random.fork(`hill${index}`), width, height * level, height * (isDesert ? 0.055 : 0.04));
  });
  hills.forEach((skyline, index) => {
    const color = layerColor(canvas, index + 1.4, 5.4);
    parts.push(mist(canvas, height * (0.58 + index * 0.09), height * 0.13, isDesert ? 0.18 : 0.34));
    if (!isDesert && index > 0)
      parts.push(pinesAlong(canvas, `pines${index}`, skyline, darker(color, 0.1), (34 + index * 26) * unit, 0.75));
    parts.push(hill(canvas, skyline, color));
    if (isDesert) parts.push(duneShade(canvas, skyline, color));
    if (index === 1) parts.push(detail(canvas, skyline));
  });
  return parts.join('');
};

function range(canvas: Canvas, name: string, level: number, rise: number, layer: number): string {
  const { width, height, palette } = canvas;
  const points = mountainPoints(canvas.random.fork(name), width, height * level, height * rise);
  const color = mix(palette.far, palette.near, layer * 0.16);
  const rock = mountains(canvas, points, color);
  if (layer > 0) return rock;
  return rock + snowCaps(canvas, points, height * (level - rise * 0.52), lighter(color, 0.72));
}

/** Snow above a line, with a ragged lower edge. */
function snowCaps(canvas: Canvas, points: readonly Point[], snowLine: number, fill: string): string {
  const random = canvas.random.fork(`snow${snowLine}`);
  const ragged = points.map(({ x, y }) => ({
    x,
    y: Math.max(y, Math.min(y + (snowLine - y) * random.between(0.45, 0.8), snowLine)),
  }));
  return polygon([...points, ...ragged.reverse()], fill, 0.85);
}

/** The shaded side of a dune. */
function duneShade(canvas: Canvas, skyline: Skyline, color: string): string {
  const crest = canvas.random.fork(color).between(0.25, 0.75) * canvas.width;
  const top = skyline(crest);
  const reach = canvas.height * 0.3;
  return path(
    `M${px(crest)} ${px(top)}Q${px(crest + reach * 0.2)} ${px(top + reach * 0.4)} ${px(crest - reach * 0.5)} ${px(top + reach)}H${px(crest + reach * 1.8)}Q${px(crest + reach * 0.7)} ${px(top + reach * 0.35)} ${px(crest)} ${px(top)}Z`,
    darker(color, 0.3),
    0.35,
  );
}

function detail(canvas: Canvas, skyline: Skyline): string {
  const { width, height, unit, random, palette } = canvas;
  const x = width * random.between(0.3, 0.62);
  if (mentions(canvas, 'balloon')) return balloon(canvas, width * random.between(0.2, 0.4), height * 0.3, 95 * unit);
  if (mentions(canvas, 'lake', 'river', 'water', '湖')) return lake(canvas, x, skyline(x));
  if (mentions(canvas, 'house', 'cottage', 'cabin', 'farm', 'village', 'home', 'castle'))
    return house(canvas, x, skyline(x), 1.5 * unit);
  if (mentions(canvas, 'desert', 'dune', 'sahara')) return '';
  return roundTree(x, skyline(x) + 8 * unit, 150 * unit, mix(palette.accents[0], palette.near, 0.25), palette.near);
}

function lake(canvas: Canvas, x: number, y: number): string {
  const { unit, palette } = canvas;
  const half = 300 * unit;
  const depth = 48 * unit;
  const glints = [0.35, 0.6, 0.82].map((at) =>
    rectangle(x - half * (0.7 - at * 0.6), y + depth * (at + 0.3), half * (1.1 - at), 3 * unit, palette.light, 0.5),
  );
  return `<ellipse cx="${px(x)}" cy="${px(y + depth)}" rx="${px(half)}" ry="${px(depth)}" fill="${mix(palette.sky[1], palette.sky[2], 0.4)}"/>${glints.join('')}`;
}

/** A small house with lit windows, with its base at x, y. */
export function house(canvas: Canvas, x: number, y: number, scale: number): string {
  const { palette } = canvas;
  const wall = mix(palette.accents[3], palette.far, 0.25);
  const roof = polygon(
    [
      { x: x - 62 * scale, y: y - 52 * scale },
      { x, y: y - 104 * scale },
      { x: x + 62 * scale, y: y - 52 * scale },
    ],
    palette.accents[0],
  );
  return [
    rectangle(x + 22 * scale, y - 108 * scale, 13 * scale, 40 * scale, darker(palette.accents[0], 0.35)),
    rectangle(x - 50 * scale, y - 54 * scale, 100 * scale, 66 * scale, wall),
    roof,
    rectangle(x - 11 * scale, y - 32 * scale, 22 * scale, 44 * scale, darker(palette.accents[0], 0.45)),
    rectangle(x - 38 * scale, y - 34 * scale, 18 * scale, 18 * scale, palette.accents[1]),
    rectangle(x + 20 * scale, y - 34 * scale, 18 * scale, 18 * scale, palette.accents[1]),
  ].join('');
}

function balloon(canvas: Canvas, x: number, y: number, radius: number): string {
  const { palette } = canvas;
  const envelope = (half: number, fill: string): string =>
    path(
      `M${px(x)} ${px(y - radius)}C${px(x + half * 1.35)} ${px(y - radius)} ${px(x + half * 1.2)} ${px(y + radius * 0.45)} ${px(x + half * 0.22)} ${px(y + radius * 1.15)}H${px(x - half * 0.22)}C${px(x - half * 1.2)} ${px(y + radius * 0.45)} ${px(x - half * 1.35)} ${px(y - radius)} ${px(x)} ${px(y - radius)}Z`,
      fill,
    );
  return [
    envelope(radius, palette.accents[0]),
    envelope(radius * 0.62, palette.accents[1]),
    envelope(radius * 0.24, palette.accents[0]),
    rectangle(x - radius * 0.16, y + radius * 1.34, radius * 0.32, radius * 0.24, palette.near),
    rectangle(x - radius * 0.15, y + radius * 1.12, radius * 0.025, radius * 0.24, palette.near),
    rectangle(x + radius * 0.125, y + radius * 1.12, radius * 0.025, radius * 0.24, palette.near),
    circle(x - radius * 0.35, y - radius * 0.4, radius * 0.22, '#ffffff', 0.16),
  ].join('');
}
