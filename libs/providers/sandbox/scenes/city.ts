import { mentions, type Canvas, type Scene } from '../drawing/canvas.js';
import { darker, lighter, mix } from '../drawing/color.js';
import { circle, ellipse, polygon, rectangle, verticalGradient } from '../drawing/svg.js';
import { mist } from './ground.js';
import { clouds, sky } from './sky.js';

interface Building {
  readonly x: number;
  readonly width: number;
  readonly top: number;
  readonly roof: number;
}

/** A skyline in three layers with lit windows, mirrored in the water in front of it. */
export const city: Scene = (canvas) => {
  const { width, height, unit, random, palette } = canvas;
  const shore = height * 0.74;
  const light = {
    x: width * random.between(0.3, 0.7),
    y: height * random.between(0.26, 0.38),
    radius: random.between(110, 150) * unit,
  };
  const water = [mix(palette.sky[2], palette.near, 0.35), palette.near];
  const rows = [0, 1, 2].map((depth) => ({ depth, buildings: rowOf(canvas, depth, shore) }));
  return [
    sky(canvas, light),
    clouds(canvas, 3),
    ...rows.map(
      ({ depth, buildings }) =>
        drawRow(canvas, depth, buildings, shore) + mist(canvas, shore, height * 0.2, 0.34 - depth * 0.12),
    ),
    `<defs>${verticalGradient('water', water)}</defs>`,
    rectangle(0, shore, width, height - shore, 'url(#water)'),
    mirrored(canvas, rows[2]?.buildings ?? [], shore),
    mentions(canvas, 'rain', 'rainy', 'storm') ? rain(canvas) : '',
  ].join('');
};

function rowOf(canvas: Canvas, depth: number, shore: number): Building[] {
  const { width, height, unit } = canvas;
  const random = canvas.random.fork(`row${depth}`);
  const buildings: Building[] = [];
  for (let x = -30 * unit; x < width;) {
    const wide = random.between(48, 110) * unit * (0.75 + depth * 0.3);
    const tall = height * (random.next() ** 1.7 * 0.36 + 0.12) * (1.15 - depth * 0.22);
    buildings.push({ x, width: wide, top: shore - tall, roof: random.integer(0, 4) });
    x += wide * random.between(0.92, 1.25);
  }
  return buildings;
}

function drawRow(canvas: Canvas, depth: number, buildings: readonly Building[], shore: number): string {
  const { palette, unit } = canvas;
  const color = mix(mix(palette.sky[2], palette.far, 0.6), palette.near, [0.12, 0.5, 0.9][depth] ?? 1);
  return buildings
    .map((building) => {
      const { x, top, width } = building;
      const body =
        rectangle(x, top, width, shore - top, color) +
        rectangle(x, top, width * 0.3, shore - top, lighter(color, 0.06));
      return roofOf(building, color, unit) + body + (depth === 0 ? '' : windows(canvas, building, shore, depth));
    })
    .join('');
}

function roofOf({ x, width, top, roof }: Building, color: string, unit: number): string {
  const middle = x + width / 2;
  if (roof === 0)
    return (
      rectangle(middle - 2 * unit, top - 70 * unit, 4 * unit, 72 * unit, color) +
      circle(middle, top - 70 * unit, 4 * unit, '#ff5d5d')
    );
  if (roof === 1)
    return polygon(
      [
        { x, y: top + 1 },
        { x: middle, y: top - width * 0.55 },
        { x: x + width, y: top + 1 },
      ],
      color,
    );
  if (roof === 2) return rectangle(x + width * 0.22, top - 26 * unit, width * 0.56, 28 * unit, color);
  if (roof === 3) return ellipse(middle, top + 1, width * 0.42, width * 0.34, color);
  return '';
}

function windows(canvas: Canvas, { x, width, top }: Building, shore: number, depth: number): string {
  const { unit, palette } = canvas;
  const random = canvas.random.fork(`windows${depth}/${Math.round(x / unit)}`);
  const cell = (15 + depth * 5) * unit;
  const margin = (9 + depth * 2) * unit;
  const columns = Math.floor((width - margin) / cell);
  const rows = Math.min(26, Math.floor((shore - top - margin * 2) / (cell * 1.35)));
  const inset = (width - columns * cell) / 2 + cell * 0.22;
  const colors = [palette.accents[1], palette.light, palette.accents[0]] as const;
  let drawn = '';
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      if (!random.chance(0.42)) continue;
      drawn += rectangle(
        x + inset + column * cell,
        top + margin + row * cell * 1.35,
        cell * 0.54,
        cell * 0.74,
        random.pick([...colors, palette.light]),
        random.between(0.45, 0.95),
      );
    }
  }
  return drawn;
}

/** Broken, dim copies of the front row in the water. */
function mirrored(canvas: Canvas, buildings: readonly Building[], shore: number): string {
  const { width, height, unit, palette } = canvas;
  const random = canvas.random.fork('mirror');
  const bodies = buildings.map(({ x, width: wide, top }) =>
    rectangle(x, shore, wide, (shore - top) * 0.55, darker(palette.near, 0.25), 0.4),
  );
  const lights = Array.from({ length: 70 }, () => {
    const y = shore + random.next() ** 1.3 * (height - shore);
    return ellipse(
      random.between(0, width),
      y,
      random.between(10, 46) * unit,
      random.between(1.5, 3.2) * unit,
      random.pick([palette.accents[0], palette.accents[1], palette.light]),
      random.between(0.15, 0.6),
    );
  });
  return [...bodies, ...lights].join('');
}

function rain(canvas: Canvas): string {
  const random = canvas.random.fork('rain');
  return Array.from({ length: 260 }, () => {
    const x = random.between(0, 1.1) * canvas.width;
    const y = random.between(-0.05, 1) * canvas.height;
    const long = random.between(24, 60) * canvas.unit;
    return `<path d="M${x} ${y}l${-long * 0.22} ${long}" stroke="#ffffff" stroke-width="${1.6 * canvas.unit}" stroke-opacity="0.3"/>`;
  }).join('');
}
