import { mentions, type Canvas, type Scene } from '../drawing/canvas.js';
import { darker, lighter, mix } from '../drawing/color.js';
import { circle, ellipse, glowGradient, line, path, px, rectangle, stop, verticalGradient } from '../drawing/svg.js';

/** Things on a table in the light of a window. */
export const stillLife: Scene = (canvas) => {
  const { width, height, unit, palette } = canvas;
  const table = height * 0.66;
  const wall = palette.isDark
    ? [palette.sky[0], palette.sky[1]]
    : [lighter(palette.far, 0.25), lighter(palette.sky[2], 0.1)];
  const wood = mix('#8a5a3b', palette.near, 0.25);
  const center = width / 2;
  return [
    `<defs>${verticalGradient('wall', wall)}${verticalGradient('table', [lighter(wood, 0.22), darker(wood, 0.3)])}${glowGradient('glow', palette.light, 0.75)}</defs>`,
    rectangle(0, 0, width, height, 'url(#wall)'),
    windowLight(canvas, table),
    circle(center, height * 0.4, 560 * unit, 'url(#glow)'),
    rectangle(0, table, width, height - table, 'url(#table)'),
    rectangle(0, table, width, 5 * unit, lighter(wood, 0.4), 0.6),
    ...objects(canvas, center, table + 85 * unit),
  ].join('');
};

function objects(canvas: Canvas, x: number, y: number): string[] {
  const { unit, palette } = canvas;
  const drinks = mentions(canvas, 'cup', 'coffee', 'tea', 'mug', 'breakfast', 'kitchen', '咖啡', '茶', '杯');
  const bottles = mentions(canvas, 'bottle', 'wine', 'perfume', 'product');
  const main = drinks
    ? cup(canvas, x - 30 * unit, y, 1.25 * unit)
    : bottles
      ? bottle(canvas, x - 10 * unit, y, 1.25 * unit)
      : bowl(canvas, x - 20 * unit, y, 1.3 * unit);
  return [
    vase(canvas, x + 300 * unit, y - 34 * unit, 1.15 * unit),
    main,
    fruit(x - 300 * unit, y - 4 * unit, 62 * unit, palette.accents[0]),
    fruit(x - 218 * unit, y + 38 * unit, 50 * unit, palette.accents[1]),
    fruit(x + 205 * unit, y + 44 * unit, 46 * unit, mix(palette.accents[1], palette.accents[0], 0.5)),
  ];
}

function windowLight(canvas: Canvas, table: number): string {
  const { width, unit, palette } = canvas;
  const left = width * 0.1;
  const pane = (column: number, row: number): string => {
    const x = left + column * 150 * unit;
    const y = table * 0.12 + row * 190 * unit;
    const wide = 138 * unit;
    const tall = 178 * unit;
    return `<path d="M${px(x)} ${px(y)}l${px(wide)} ${px(26 * unit)}v${px(tall)}l${px(-wide)} ${px(-26 * unit)}Z" fill="${palette.light}" fill-opacity="${palette.isDark ? 0.12 : 0.5}"/>`;
  };
  return [0, 1].flatMap((column) => [0, 1].map((row) => pane(column, row))).join('');
}

function shadow(x: number, y: number, half: number): string {
  return ellipse(x + half * 0.35, y + half * 0.03, half * 1.3, half * 0.19, '#1a0d08', 0.32);
}

/** A shape lit from the left. */
function lit(id: string, data: string, color: string): string {
  const stops = stop(0, lighter(color, 0.28), 1) + stop(0.45, color, 1) + stop(1, darker(color, 0.34), 1);
  return `<defs><linearGradient id="${id}">${stops}</linearGradient></defs>${path(data, `url(#${id})`)}`;
}

function cup(canvas: Canvas, x: number, y: number, scale: number): string {
  const { palette } = canvas;
  const china = mix(
    palette.accents[3],
    palette.accents[0],
    mentions(canvas, 'red', 'blue', 'green', 'yellow', 'pink', 'black', 'orange') ? 0.9 : 0.12,
  );
  const at = (dx: number, dy: number): string => `${px(x + dx * scale)} ${px(y + dy * scale)}`;
  const steam = [-38, 6, 46].map(
    (dx, index) =>
      `M${at(dx, -250)}q${px(28 * scale)} ${px(-42 * scale)} 0 ${px(-84 * scale)}t0 ${px(-(70 + index * 12) * scale)}`,
  );
  return [
    shadow(x, y, 190 * scale),
    ellipse(x, y, 205 * scale, 34 * scale, darker(china, 0.14)),
    ellipse(x, y - 6 * scale, 205 * scale, 34 * scale, lighter(china, 0.15)),
    ellipse(x, y - 4 * scale, 110 * scale, 17 * scale, darker(china, 0.2)),
    line(`M${at(122, -178)}C${at(222, -196)} ${at(212, -64)} ${at(96, -70)}`, darker(china, 0.16), 24 * scale),
    lit(
      'cup',
      `M${at(-138, -214)}C${at(-136, -90)} ${at(-96, -8)} ${at(-52, -6)}H${px(x + 52 * scale)}C${at(96, -8)} ${at(136, -90)} ${at(138, -214)}Z`,
      china,
    ),
    ellipse(x, y - 214 * scale, 138 * scale, 30 * scale, lighter(china, 0.35)),
    ellipse(x, y - 211 * scale, 121 * scale, 23 * scale, '#4a2718'),
    ellipse(x - 20 * scale, y - 213 * scale, 62 * scale, 9 * scale, '#b97a4b', 0.75),
    line(steam.join(''), '#ffffff', 11 * scale, 0.4),
  ].join('');
}

function bottle(canvas: Canvas, x: number, y: number, scale: number): string {
  const glass = canvas.palette.accents[0];
  const at = (dx: number, dy: number): string => `${px(x + dx * scale)} ${px(y + dy * scale)}`;
  return [
    shadow(x, y, 105 * scale),
    lit(
      'bottle',
      `M${at(-34, -420)}H${px(x + 34 * scale)}V${px(y - 320 * scale)}C${at(36, -280)} ${at(100, -270)} ${at(100, -210)}V${px(y - 22 * scale)}Q${at(100, 0)} ${at(76, 2)}H${px(x - 76 * scale)}Q${at(-100, 0)} ${at(-100, -22)}V${px(y - 210 * scale)}C${at(-100, -270)} ${at(-36, -280)} ${at(-34, -320)}Z`,
      glass,
    ),
    rectangle(x - 40 * scale, y - 450 * scale, 80 * scale, 46 * scale, canvas.palette.near),
    rectangle(x - 100 * scale, y - 178 * scale, 200 * scale, 104 * scale, canvas.palette.accents[3], 0.94),
    rectangle(x - 62 * scale, y - 150 * scale, 124 * scale, 10 * scale, canvas.palette.near, 0.75),
    rectangle(x - 40 * scale, y - 124 * scale, 80 * scale, 7 * scale, canvas.palette.near, 0.45),
    rectangle(x - 78 * scale, y - 250 * scale, 12 * scale, 62 * scale, '#ffffff', 0.4),
  ].join('');
}

function bowl(canvas: Canvas, x: number, y: number, scale: number): string {
  const { palette } = canvas;
  const clay = mix(palette.accents[2], palette.accents[3], 0.25);
  const at = (dx: number, dy: number): string => `${px(x + dx * scale)} ${px(y + dy * scale)}`;
  const heap = [
    [-88, -196, 58, 0],
    [80, -200, 60, 1],
    [-6, -214, 70, 0],
    [-40, -262, 52, 1],
    [46, -268, 54, 0],
  ] as const;
  return [
    shadow(x, y, 150 * scale),
    ellipse(x, y - 150 * scale, 178 * scale, 30 * scale, darker(clay, 0.35)),
    ...heap.map(([dx, dy, size, accent]) =>
      fruit(x + dx * scale, y + (dy + size) * scale, size * scale, palette.accents[accent], false),
    ),
    lit(
      'bowl',
      `M${at(-182, -152)}C${at(-168, -50)} ${at(-96, 0)} ${at(-58, 0)}H${px(x + 58 * scale)}C${at(96, 0)} ${at(168, -50)} ${at(182, -152)}Q${at(0, -108)} ${at(-182, -152)}Z`,
      clay,
    ),
  ].join('');
}

function vase(canvas: Canvas, x: number, y: number, scale: number): string {
  const { palette } = canvas;
  const at = (dx: number, dy: number): string => `${px(x + dx * scale)} ${px(y + dy * scale)}`;
  const green = mix(palette.accents[2], '#2f6b4a', 0.5);
  const twigs = [
    [-84, -440],
    [-12, -500],
    [70, -452],
  ] as const;
  const leaves = twigs.flatMap(([dx, dy]) =>
    [0.5, 0.68, 0.86, 1].flatMap((share) =>
      [-1, 1].map((side) => {
        const lx = x + dx * share * scale;
        const ly = y + (-190 + (dy + 190) * share) * scale;
        return `<g transform="rotate(${side * 52 + dx * 0.25} ${px(lx)} ${px(ly)})">${ellipse(lx, ly - 30 * scale, 13 * scale, 32 * scale, share > 0.8 ? lighter(green, 0.15) : green)}</g>`;
      }),
    ),
  );
  return [
    shadow(x, y, 84 * scale),
    line(
      twigs.map(([dx, dy]) => `M${at(0, -180)}Q${at(dx * 0.2, (dy - 180) / 2)} ${at(dx, dy)}`).join(''),
      darker(green, 0.3),
      6 * scale,
    ),
    ...leaves,
    lit(
      'vase',
      `M${at(-34, -222)}H${px(x + 34 * scale)}C${at(28, -170)} ${at(86, -140)} ${at(84, -74)}C${at(82, -20)} ${at(50, 0)} ${at(40, 0)}H${px(x - 40 * scale)}C${at(-50, 0)} ${at(-82, -20)} ${at(-84, -74)}C${at(-86, -140)} ${at(-28, -170)} ${at(-34, -222)}Z`,
      palette.accents[3],
    ),
    ellipse(x, y - 222 * scale, 34 * scale, 7 * scale, darker(palette.accents[3], 0.4)),
  ].join('');
}

/** A round fruit lying at y. */
function fruit(x: number, y: number, radius: number, color: string, withShadow = true): string {
  return [
    withShadow ? shadow(x, y, radius) : '',
    circle(x, y - radius, radius, darker(color, 0.2)),
    circle(x - radius * 0.08, y - radius * 1.06, radius * 0.9, color),
    circle(x - radius * 0.32, y - radius * 1.34, radius * 0.3, '#ffffff', 0.28),
    line(
      `M${px(x)} ${px(y - radius * 1.9)}q${px(radius * 0.05)} ${px(-radius * 0.2)} ${px(radius * 0.2)} ${px(-radius * 0.3)}`,
      '#4b3020',
      radius * 0.1,
    ),
    path(
      `M${px(x + radius * 0.08)} ${px(y - radius * 2)}q${px(radius * 0.35)} ${px(-radius * 0.3)} ${px(radius * 0.6)} ${px(-radius * 0.02)}q${px(-radius * 0.4)} ${px(radius * 0.22)} ${px(-radius * 0.6)} ${px(radius * 0.02)}Z`,
      '#4d8a4f',
    ),
  ].join('');
}
