import { mentions, type Canvas } from '../drawing/canvas.js';
import { darker, mix } from '../drawing/color.js';
import type { Place } from '../drawing/subject.js';
import { placed } from '../drawing/svg.js';
import { duneShade, hill, mist, mountains, rollingLine, type Skyline } from './ground.js';
import { flowers, housesOn, pinesAlong } from './rows.js';
import { balloon, boat, deer, house, lighthouse, rocket, tree } from './sights.js';
import { birds, clouds, rain, sky, space, type Light } from './sky.js';
import { water, waves } from './water.js';

/** Layers of hills; pairs are values of the farthest and the nearest. */
interface Hills {
  readonly layers: number;
  /** Shares of the image's height. */
  readonly levels: readonly [number, number];
  /** How near their color is to that of the near ground, 0..1. */
  readonly tones: readonly [number, number];
  /** Height of a hill, as a share of the image's. */
  readonly swing: number;
  /** Opacity of the mist between them. */
  readonly mist: number;
}

const ROLLING: Hills = { layers: 4, levels: [0.56, 0.85], tones: [0.32, 0.88], swing: 0.04, mist: 0.34 };
const HILLS: Readonly<Record<Exclude<Place, 'sea'>, Hills>> = {
  mountains: ROLLING,
  space: { ...ROLLING, levels: [0.7, 0.88], mist: 0.2 },
  desert: { ...ROLLING, swing: 0.055, mist: 0.18 },
  meadow: { layers: 3, levels: [0.58, 0.74], tones: [0.1, 0.45], swing: 0.04, mist: 0.25 },
  forest: { layers: 5, levels: [0.5, 0.88], tones: [0, 0.93], swing: 0.022, mist: 0.34 },
  city: { layers: 3, levels: [0.74, 0.74], tones: [0.05, 0.9], swing: 0, mist: 0.3 },
};

/** A view under a wide sky; ground, water, and what stands there follow the place and the prompt's words. */
export function landscape(canvas: Canvas, place: Place): string {
  const { width, height } = canvas;
  const light = lightOver(canvas, place);
  const shore = height * (place === 'sea' ? 0.55 : 0.74);
  const hasLake = place === 'mountains' && mentions(canvas, 'lake', 'river', 'water', '湖');
  return [
    place === 'space' ? space(canvas, light) : sky(canvas, light),
    place === 'space' || place === 'desert' || place === 'forest' ? '' : clouds(canvas, 4),
    place === 'space' ? '' : birds(canvas, width - light.x, height * 0.22),
    place === 'mountains' || place === 'space' ? mountains(canvas, HILLS[place].levels[0] * height) : '',
    place === 'sea' ? sea(canvas, light, shore) : hills(canvas, place),
    place === 'city' || hasLake ? water(canvas, shore, light) : '',
    place === 'meadow' ? flowers(canvas) : '',
    mentions(canvas, 'rain', 'rainy', 'storm') ? rain(canvas) : '',
  ].join('');
}

function lightOver({ width, height, unit, random }: Canvas, place: Place): Light {
  const x = width * random.between(0.28, 0.72);
  const share = random.next();
  switch (place) {
    case 'sea':
      return { x, y: height * 0.55 - (40 + share * 110) * unit, radius: (80 + share * 35) * unit };
    case 'space':
      return { x: width * (0.56 + share * 0.1), y: height * 0.36, radius: (170 + share * 40) * unit };
    case 'city':
      return { x, y: height * (0.26 + share * 0.12), radius: (110 + share * 40) * unit };
    default:
      return { x, y: height * (0.26 + share * 0.1), radius: (62 + share * 33) * unit };
  }
}

function hills(canvas: Canvas, place: Exclude<Place, 'sea'>): string {
  const { width, height, unit, random, palette } = canvas;
  const { layers, levels, tones, swing, mist: haze } = HILLS[place];
  const horizon = place === 'forest' || place === 'city' ? mix(palette.sky[2], palette.far, 0.55) : palette.far;
  const parts: string[] = [];
  for (let index = 0; index < layers; index++) {
    const share = index / (layers - 1);
    const level = height * (levels[0] + (levels[1] - levels[0]) * share);
    const color = mix(horizon, palette.near, tones[0] + (tones[1] - tones[0]) * share);
    const skyline = rollingLine(random.fork(`hill${index}`), width, level, height * swing);
    parts.push(mist(canvas, level + height * 0.02, height * 0.15, haze));
    if (place === 'city') parts.push(housesOn(canvas, index, level, color));
    if (place === 'forest')
      parts.push(pinesAlong(canvas, skyline, color, (125 + index * 48) * unit, index === 4 ? 0.33 : 0.95));
    if (place === 'mountains' && index > 0)
      parts.push(pinesAlong(canvas, skyline, darker(color, 0.1), (34 + index * 26) * unit, 0.75));
    parts.push(hill(canvas, skyline, color));
    if (place === 'desert') parts.push(duneShade(canvas, skyline, color));
    if (index === (place === 'forest' ? 3 : 1)) parts.push(sight(canvas, place, skyline));
  }
  return parts.join('');
}

/** What the prompt names, else what suits the place. */
function sight(canvas: Canvas, place: Exclude<Place, 'sea'>, skyline: Skyline): string {
  const { width, height, unit, random, palette } = canvas;
  const x = width * random.between(0.36, 0.62);
  const onHill = (scale: number, figure: string): string => placed(x, skyline(x) + 8 * unit, scale * unit, figure);
  if (mentions(canvas, 'balloon')) return placed(width * 0.3, height * 0.3, 0.95 * unit, balloon(palette));
  if (place === 'space' && mentions(canvas, 'rocket', 'spaceship', 'astronaut', '火'))
    return placed(width * 0.22, height * 0.48, 0.95 * unit, rocket(palette), 32);
  if (place === 'space' || place === 'city' || place === 'meadow') return '';
  if (mentions(canvas, 'house', 'cottage', 'cabin', 'camp', 'farm', 'village', 'home', 'castle'))
    return onHill(1.5, house(palette));
  if (place === 'desert') return '';
  return place === 'forest' ? placed(x, skyline(x) + 62 * unit, 1.15 * unit, deer(palette)) : onHill(1, tree(palette));
}

function sea(canvas: Canvas, light: Light, shore: number): string {
  const { width, height, unit, random, palette } = canvas;
  const isLightRight = light.x > width / 2;
  const islands = rollingLine(random.fork('islands'), width, shore + 20 * unit, 70 * unit);
  const tower = `<g transform="scale(${isLightRight ? 1 : -1} 1)">${lighthouse(palette)}</g>`;
  const parts = [hill(canvas, islands, mix(palette.far, palette.near, 0.2)), water(canvas, shore, light)];
  if (mentions(canvas, 'lighthouse', '灯'))
    parts.push(placed(width * (isLightRight ? 0.22 : 0.78), shore + 40 * unit, unit, tower));
  parts.push(waves(canvas, shore, 0, 2));
  if (mentions(canvas, 'beach')) {
    const beach = rollingLine(random.fork('beach'), width, height * 0.78, 20 * unit);
    return [...parts, hill(canvas, beach, mix('#f2d6a2', palette.sky[2], 0.25))].join('');
  }
  const x = width * (isLightRight ? 0.74 : 0.27);
  return [...parts, placed(x, shore + 120 * unit, 1.25 * unit, boat(palette)), waves(canvas, shore, 3, 5)].join('');
}
