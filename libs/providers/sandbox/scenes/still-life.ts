import { mentions, type Canvas } from '../drawing/canvas.js';
import { darker, lighter, mix } from '../drawing/color.js';
import type { Palette } from '../drawing/palette.js';
import { circle, ellipse, line, path, placed, rectangle, stop } from '../drawing/svg.js';

/** A cup, a bottle, or a bowl between a vase and fruits; the table's edge is 85 above 0. */
export function stillLife(canvas: Canvas): string {
  const { palette } = canvas;
  const [first, second] = palette.accents;
  const isDrink = mentions(canvas, 'cup', 'coffee', 'tea', 'mug', 'breakfast', 'kitchen', '咖啡', '茶', '杯');
  const isBottle = mentions(canvas, 'bottle', 'wine', 'perfume', 'product');
  return [
    placed(300, -34, 1.15, vase(palette)),
    placed(-20, 0, 1.25, isDrink ? cup(palette) : isBottle ? bottle(palette) : bowl(palette)),
    shadow(-300, -4, 62) + fruit(-300, -4, 62, first),
    shadow(-218, 38, 50) + fruit(-218, 38, 50, second),
    shadow(205, 44, 46) + fruit(205, 44, 46, mix(second, first, 0.5)),
  ].join('');
}

function shadow(x: number, y: number, half: number): string {
  return ellipse(x + half * 0.35, y + half * 0.03, half * 1.3, half * 0.19, '#1a0d08', 0.32);
}

/** A shape lit from the left. */
function lit(id: string, data: string, color: string): string {
  const stops = stop(0, lighter(color, 0.28), 1) + stop(0.45, color, 1) + stop(1, darker(color, 0.34), 1);
  return `<defs><linearGradient id="${id}">${stops}</linearGradient></defs>${path(data, `url(#${id})`)}`;
}

function cup({ accents, named }: Palette): string {
  const china = named === undefined ? mix(accents[3], accents[0], 0.12) : mix(named, accents[3], 0.1);
  return [
    shadow(0, 0, 190),
    ellipse(0, 0, 205, 34, darker(china, 0.14)),
    ellipse(0, -6, 205, 34, lighter(china, 0.15)),
    ellipse(0, -4, 110, 17, darker(china, 0.2)),
    line('M122-178C222-196 212-64 96-70', darker(china, 0.16), 24),
    lit('cup', 'M-138-214C-136-90-96-8-52-6H52C96-8 136-90 138-214Z', china),
    ellipse(0, -214, 138, 30, lighter(china, 0.35)),
    ellipse(0, -211, 121, 23, '#4a2718'),
    ellipse(-20, -213, 62, 9, '#b97a4b', 0.75),
    line('M-38-250q28-42 0-84t0-70M6-250q28-42 0-84t0-82M46-250q28-42 0-84t0-94', '#ffffff', 11, 0.5),
  ].join('');
}

function bottle({ accents, near }: Palette): string {
  const glass = 'M-34-420H34V-320C36-280 100-270 100-210V-22Q100 0 76 2H-76Q-100 0-100-22V-210C-100-270-36-280-34-320Z';
  return [
    shadow(0, 0, 105),
    lit('bottle', glass, accents[0]),
    rectangle(-40, -450, 80, 46, near),
    rectangle(-100, -178, 200, 104, accents[3], 0.94),
    rectangle(-62, -150, 124, 10, near, 0.75),
    rectangle(-40, -124, 80, 7, near, 0.45),
    rectangle(-78, -250, 12, 62, '#ffffff', 0.4),
  ].join('');
}

function bowl({ accents }: Palette): string {
  const clay = mix(accents[2], accents[3], 0.25);
  return [
    shadow(0, 0, 150),
    ellipse(0, -150, 178, 30, darker(clay, 0.35)),
    fruit(-88, -138, 58, accents[0]),
    fruit(80, -140, 60, accents[1]),
    fruit(-6, -144, 70, accents[0]),
    fruit(-40, -210, 52, accents[1]),
    fruit(46, -214, 54, accents[0]),
    lit('bowl', 'M-182-152C-168-50-96 0-58 0H58C96 0 168-50 182-152Q0-108-182-152Z', clay),
  ].join('');
}

function vase({ accents }: Palette): string {
  const green = mix(accents[2], '#2f6b4a', 0.5);
  const twigs = [
    [-84, -440],
    [-12, -500],
    [70, -452],
  ] as const;
  const leaves = twigs.flatMap(([x, y]) =>
    [0.5, 0.68, 0.86, 1].flatMap((share) =>
      [-52, 52].map((turn) => {
        const leaf = ellipse(0, -30, 13, 32, share > 0.8 ? lighter(green, 0.15) : green);
        return placed(x * share, -190 + (y + 190) * share, 1, leaf, turn + x * 0.25);
      }),
    ),
  );
  const clay = 'M-34-222H34C28-170 86-140 84-74C82-20 50 0 40 0H-40C-50 0-82-20-84-74C-86-140-28-170-34-222Z';
  return [
    shadow(0, 0, 84),
    line(twigs.map(([x, y]) => `M0-180Q${x * 0.2} ${(y - 180) / 2} ${x} ${y}`).join(''), darker(green, 0.3), 6),
    ...leaves,
    lit('vase', clay, accents[3]),
    ellipse(0, -222, 34, 7, darker(accents[3], 0.4)),
  ].join('');
}

/** A round fruit lying at y. */
function fruit(x: number, y: number, radius: number, color: string): string {
  const round = circle(0, -100, 100, darker(color, 0.2)) + circle(-8, -106, 90, color);
  const stalk = line('M0-190q5-20 20-30', '#4b3020', 10) + path('M8-200q35-30 60-2q-40 22-60 2Z', '#4d8a4f');
  return placed(x, y, radius / 100, round + circle(-32, -134, 30, '#ffffff', 0.28) + stalk);
}
