import type { Canvas } from '../drawing/canvas.js';
import { darker, lighter, mix } from '../drawing/color.js';
import type { Random } from '../drawing/random.js';
import { circle, ellipse, line, path, placed, rectangle } from '../drawing/svg.js';
import type { Skyline } from './ground.js';

const PINE = 'M-2 5V-15H2V5ZM0-100L13-50Q0-55-13-50ZM0-76L18.5-30Q0-35-18.5-30ZM0-54L24-10Q0-15-24-10Z';
/** Roofs of a house of width 100. */
const ROOFS = ['M46 1V-90H54V1Z', 'M0 1L50-55L100 1Z', 'M22 1V-26H78V1Z', 'M8 1A42 34 0 0 1 92 1Z', ''] as const;

/** Conifers along a line, in groves rather than evenly; heights in pixels. */
export function pinesAlong(
  { width, random }: Canvas,
  skyline: Skyline,
  fill: string,
  tall: number,
  density: number,
): string {
  const row = random.fork(`pines${fill}`);
  const pine = path(PINE, fill);
  return Array.from({ length: Math.min(160, Math.round((width / tall) * 3.4 * density)) }, () => {
    const x = row.between(-0.02, 1.02) * width;
    const grove = 0.5 + 0.5 * Math.sin((x / width) * 9 + tall);
    const height = tall * row.between(0.5, 1) * (0.6 + 0.5 * grove);
    return row.chance(0.25 + grove * 0.75) ? placed(x, skyline(x) + tall * 0.06, height / 100, pine) : '';
  }).join('');
}

/** A row of tall houses on the ground at y; `depth` 0 is the farthest of three, without lights. */
export function housesOn(
  { width, height, unit, random, palette }: Canvas,
  depth: number,
  y: number,
  fill: string,
): string {
  const row = random.fork(`houses${depth}`);
  const lights = [palette.accents[1], palette.light, palette.accents[0], palette.light] as const;
  let drawn = '';
  for (let x = -30 * unit; x < width;) {
    const wide = row.between(48, 110) * unit * (0.75 + depth * 0.3);
    const tall = height * (row.next() ** 1.7 * 0.36 + 0.12) * (1.15 - depth * 0.22);
    drawn += placed(x, y - tall, wide / 100, path(row.pick(ROOFS), fill));
    drawn += rectangle(x, y - tall, wide, tall, fill);
    drawn += rectangle(x, y - tall, wide * 0.3, tall, lighter(fill, 0.06));
    const cell = (15 + depth * 5) * unit;
    const columns = depth === 0 ? 0 : Math.floor((wide - cell * 0.6) / cell);
    const inset = (wide - columns * cell) / 2 + cell * 0.22;
    for (let top = cell * 0.6; top < Math.min(tall - cell * 1.4, cell * 35); top += cell * 1.35) {
      for (let column = 0; column < columns; column++) {
        if (!row.chance(0.42)) continue;
        const left = x + inset + column * cell;
        drawn += rectangle(left, y - tall + top, cell * 0.54, cell * 0.74, row.pick(lights), row.between(0.45, 0.95));
      }
    }
    x += wide * row.between(0.92, 1.25);
  }
  return drawn;
}

/** Tall flowers in three beds, the nearest with the largest. */
export function flowers(canvas: Canvas): string {
  return [0, 1, 2].map((depth) => bed(canvas, depth)).join('');
}

function bed({ width, height, unit, random, palette }: Canvas, depth: number): string {
  const grown = random.fork(`bed${depth}`);
  const haze = [0.45, 0.2, 0][depth] ?? 0;
  const [first, second, third, fourth] = palette.accents;
  const green = mix(mix(third, palette.near, 0.25), palette.sky[2], haze);
  const count = Math.round((width / unit / 1000) * ([15, 9, 6][depth] ?? 6));
  return Array.from({ length: count }, (_, index) => {
    const x = ((index + grown.between(0.15, 0.85)) / count) * width;
    const y = height * (0.56 + grown.between(-0.12, 0.16));
    const scale = (grown.between(0.75, 1.15) * ([46, 78, 118][depth] ?? 80) * unit) / 100;
    const color = mix(grown.pick([first, first, second, lighter(first, 0.45), fourth]), palette.sky[2], haze);
    const head = bloom(grown, color, color === second ? '#7a4a21' : second);
    return placed(x, y, scale, stem((height - y) / scale, grown.between(-90, 90), green) + head);
  }).join('');
}

function stem(length: number, lean: number, green: string): string {
  const leaf = 'M0 0Q50-75 125-85Q95-5 0 0Z';
  return [
    line(`M0 0Q${-lean * 0.3} ${length / 2} ${lean} ${length}`, green, 10),
    placed(lean * 0.3, length * 0.4, 1, path(leaf, green)),
    placed(lean * 0.5, length * 0.58, 1, `<g transform="scale(-1 1)">${path(leaf, darker(green, 0.14))}</g>`),
  ].join('');
}

function bloom(random: Random, color: string, heart: string): string {
  const count = random.integer(6, 9);
  const half = random.pick([20, 30, 30]);
  const petals = Array.from({ length: count }, (_, index) => {
    const petal = ellipse(0, -58, half, 52, index % 2 === 0 ? color : darker(color, 0.06));
    return placed(0, 0, 1, petal, (index * 360) / count);
  });
  return petals.join('') + circle(0, 0, 26, darker(heart, 0.12)) + circle(-4, -5, 17, heart);
}
