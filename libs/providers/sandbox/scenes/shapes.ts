import type { Canvas, Scene } from '../drawing/canvas.js';
import { darker, mix } from '../drawing/color.js';
import type { Random } from '../drawing/random.js';
import { circle, px, polygon, rectangle } from '../drawing/svg.js';

/** A wall of geometric tiles: quarter circles, rings, leaves and stripes on a grid. */
export const shapes: Scene = (canvas) => {
  const { width, height, random } = canvas;
  const columns = Math.max(2, Math.round(width / (canvas.unit * random.pick([200, 250, 334]))));
  const tile = width / columns;
  const rows = Math.ceil(height / tile);
  const colors = tileColors(canvas);
  const parts: string[] = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++)
      parts.push(drawTile(random, colors, column * tile, row * tile, tile));
  }
  return parts.join('');
};

function tileColors({ palette }: Canvas): readonly [string, ...string[]] {
  const ink = palette.isDark ? darker(palette.near, 0.2) : palette.near;
  return [
    palette.accents[0],
    palette.accents[1],
    palette.accents[2],
    palette.accents[3],
    ink,
    mix(palette.sky[1], palette.sky[2], 0.4),
    palette.sky[0],
  ];
}

function drawTile(random: Random, colors: readonly [string, ...string[]], x: number, y: number, size: number): string {
  const ground = random.pick(colors);
  const others = colors.filter((color) => color !== ground);
  const first = random.pick([others[0] ?? ground, ...others]);
  const second = random.pick([others[1] ?? ground, ...others]);
  const turn = random.integer(0, 3) * 90;
  const half = size / 2;
  const figure = [
    () => quarter(x, y, size, first) + quarter(x, y, half, second),
    () => circle(x + half, y + half, half * 0.82, first) + circle(x + half, y + half, half * 0.45, second),
    () =>
      `<path d="M${px(x)} ${px(y)}A${px(size)} ${px(size)} 0 0 1 ${px(x + size)} ${px(y + size)}A${px(size)} ${px(size)} 0 0 1 ${px(x)} ${px(y)}Z" fill="${first}"/>`,
    () =>
      polygon(
        [
          { x, y },
          { x: x + size, y },
          { x, y: y + size },
        ],
        first,
      ) + circle(x + size * 0.72, y + size * 0.72, size * 0.13, second),
    () =>
      [0, 1, 2]
        .map((index) => rectangle(x, y + (size / 3) * index, size, size / 6, index === 1 ? second : first))
        .join(''),
    () => halfDisc(x, y, size, first) + halfDisc(x, y + half, size, second),
    () =>
      [0.25, 0.75]
        .flatMap((dx) =>
          [0.25, 0.75].map((dy) =>
            circle(x + size * dx, y + size * dy, size * 0.15, (dx + dy) % 1 === 0 ? first : second),
          ),
        )
        .join(''),
  ] as const;
  return `${rectangle(x - 0.5, y - 0.5, size + 1, size + 1, ground)}<g transform="rotate(${turn} ${px(x + half)} ${px(y + half)})">${(figure[random.integer(0, figure.length - 1)] ?? figure[0])()}</g>`;
}

function quarter(x: number, y: number, radius: number, fill: string): string {
  return `<path d="M${px(x)} ${px(y)}H${px(x + radius)}A${px(radius)} ${px(radius)} 0 0 1 ${px(x)} ${px(y + radius)}Z" fill="${fill}"/>`;
}

function halfDisc(x: number, y: number, size: number, fill: string): string {
  return `<path d="M${px(x)} ${px(y + size / 2)}A${px(size / 2)} ${px(size / 2)} 0 0 1 ${px(x + size)} ${px(y + size / 2)}Z" fill="${fill}"/>`;
}
