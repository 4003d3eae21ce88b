import type { Canvas, Scene } from '../drawing/canvas.js';
import { darker, lighter, mix } from '../drawing/color.js';
import type { Random } from '../drawing/random.js';
import { circle, ellipse, glowGradient, line, path, px, rectangle, verticalGradient } from '../drawing/svg.js';

interface Bloom {
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly petals: number;
  readonly color: string;
  readonly kind: number;
}

/** Tall flowers against soft light, the near ones large. */
export const flowers: Scene = (canvas) => {
  const { width, height, unit, random, palette } = canvas;
  const ground = [lighter(palette.sky[1], 0.35), palette.sky[2], lighter(palette.sky[2], 0.25)];
  const leaf = mix(palette.accents[2], palette.near, 0.25);
  const sun = { x: width * random.between(0.25, 0.75), y: height * 0.3 };
  return [
    `<defs>${verticalGradient('air', palette.isDark ? [...palette.sky] : ground)}${glowGradient('glow', palette.light, 0.95)}</defs>`,
    rectangle(0, 0, width, height, 'url(#air)'),
    circle(sun.x, sun.y, 520 * unit, 'url(#glow)'),
    circle(sun.x, sun.y, 150 * unit, palette.light, 0.75),
    bokeh(canvas),
    ...[0, 1, 2].map((depth) => bed(canvas, depth, leaf)),
  ].join('');
};

function bed(canvas: Canvas, depth: number, leaf: string): string {
  const { width, height, unit, palette } = canvas;
  const random = canvas.random.fork(`bed${depth}`);
  const haze = [0.55, 0.25, 0][depth] ?? 0;
  const count = Math.round((width / unit / 1000) * ([15, 9, 6][depth] ?? 6));
  const green = mix(leaf, palette.sky[2], haze);
  const blooms = Array.from({ length: count }, (_, index): Bloom => ({
    x: ((index + random.between(0.15, 0.85)) / count) * width,
    y: height * ([0.5, 0.5, 0.47][depth] ?? 0.5) + random.between(-0.13, 0.17) * height,
    size: random.between(0.75, 1.15) * ([46, 78, 118][depth] ?? 80) * unit,
    petals: random.integer(6, 9),
    color: mix(
      random.pick([
        palette.accents[0],
        palette.accents[0],
        palette.accents[1],
        lighter(palette.accents[0], 0.45),
        palette.accents[3],
      ]),
      palette.sky[2],
      haze,
    ),
    kind: random.integer(0, 3),
  }));
  return blooms.map((bloom) => stem(bloom, random, green, height) + head(bloom, palette.accents[1], haze)).join('');
}

function stem({ x, y, size }: Bloom, random: Random, green: string, height: number): string {
  const foot = x + random.between(-0.9, 0.9) * size;
  const leaves = [0.35, 0.55].map((share, index) => {
    const lx = x + (foot - x) * share;
    const ly = y + (height - y) * share;
    const side = index === 0 ? 1 : -1;
    return path(
      `M${px(lx)} ${px(ly)}Q${px(lx + side * size * 0.5)} ${px(ly - size * 0.75)} ${px(lx + side * size * 1.25)} ${px(ly - size * 0.85)}Q${px(lx + side * size * 0.95)} ${px(ly - size * 0.05)} ${px(lx)} ${px(ly)}Z`,
      index === 0 ? green : darker(green, 0.14),
    );
  });
  return (
    line(
      `M${px(x)} ${px(y)}Q${px(x + (x - foot) * 0.3)} ${px((y + height) / 2)} ${px(foot)} ${px(height)}`,
      green,
      size * 0.1,
    ) + leaves.join('')
  );
}

function head(bloom: Bloom, heart: string, haze: number): string {
  if (bloom.kind === 0) return tulip(bloom);
  const { x, y, size, petals, color, kind } = bloom;
  const layers = kind === 1 ? [1, 0.7] : [1];
  const crowns = layers.map((reach, layer) =>
    Array.from({ length: petals }, (_, index) => {
      const turn = ((index + layer * 0.5) * 360) / petals;
      const fill = layer === 0 ? color : lighter(color, 0.22);
      return `<g transform="rotate(${turn.toFixed(1)} ${px(x)} ${px(y)})">${ellipse(x, y - size * 0.58 * reach, size * (kind === 3 ? 0.2 : 0.3) * reach, size * 0.52 * reach, index % 2 === 0 ? fill : darker(fill, 0.06))}</g>`;
    }).join(''),
  );
  const center = mix(heart === color ? '#7a4a21' : heart, '#ffffff', haze * 0.5);
  return (
    crowns.join('') +
    circle(x, y, size * 0.26, darker(center, 0.12)) +
    circle(x - size * 0.04, y - size * 0.05, size * 0.17, center)
  );
}

function tulip({ x, y, size, color }: Bloom): string {
  const petal = (from: number, to: number, fill: string): string =>
    path(
      `M${px(x)} ${px(y + size * 0.55)}C${px(x + from * size)} ${px(y + size * 0.5)} ${px(x + from * size * 1.05)} ${px(y - size * 0.3)} ${px(x + ((from + to) / 2) * size)} ${px(y - size * 0.78)}C${px(x + to * size * 0.9)} ${px(y - size * 0.3)} ${px(x + to * size)} ${px(y + size * 0.4)} ${px(x)} ${px(y + size * 0.55)}Z`,
      fill,
    );
  return (
    petal(-0.68, -0.1, darker(color, 0.12)) +
    petal(0.1, 0.68, darker(color, 0.2)) +
    petal(-0.4, 0.4, lighter(color, 0.08))
  );
}

function bokeh(canvas: Canvas): string {
  const random = canvas.random.fork('bokeh');
  return Array.from({ length: 26 }, () =>
    circle(
      random.between(0, canvas.width),
      random.between(0, canvas.height),
      random.between(16, 70) * canvas.unit,
      random.pick([canvas.palette.light, canvas.palette.accents[0], canvas.palette.accents[1]]),
      random.between(0.08, 0.24),
    ),
  ).join('');
}
