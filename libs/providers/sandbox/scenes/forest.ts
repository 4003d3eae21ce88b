import { mentions, type Canvas, type Scene } from '../drawing/canvas.js';
import { darker, mix } from '../drawing/color.js';
import { circle, ellipse, path, polygon, px, rectangle } from '../drawing/svg.js';
import { hill, mist, rollingLine } from './ground.js';
import { house } from './landscape.js';
import { birds, sky } from './sky.js';
import { pinesAlong } from './trees.js';

/** Rows of conifers in the mist with light falling through, and the animals of the forest. */
export const forest: Scene = (canvas) => {
  const { width, height, unit, random, palette } = canvas;
  const light = { x: width * random.between(0.35, 0.65), y: height * 0.3, radius: 90 * unit };
  const parts = [sky(canvas, light), rays(canvas, light.x, light.y), birds(canvas, width * 0.3, height * 0.22)];
  for (let index = 0; index < 5; index++) {
    const level = height * (0.5 + index * 0.095);
    const color = mix(mix(palette.sky[2], palette.far, 0.55), palette.near, index / 4.3);
    const skyline = rollingLine(random.fork(`row${index}`), width, level, height * 0.022);
    const clearing = index === 4 ? 0.35 : 1;
    parts.push(pinesAlong(canvas, `forest${index}`, skyline, color, (125 + index * 48) * unit, 0.95 * clearing));
    parts.push(hill(canvas, skyline, color));
    if (index < 4) parts.push(mist(canvas, level + 40 * unit, height * 0.15, 0.42 - index * 0.07));
    if (index === 3) parts.push(inhabitant(canvas, width * random.between(0.4, 0.6), level + 62 * unit));
  }
  return parts.join('');
};

function rays(canvas: Canvas, x: number, y: number): string {
  const random = canvas.random.fork('rays');
  return Array.from({ length: 7 }, () => {
    const angle = random.between(0.6, 2.5);
    const spread = random.between(0.03, 0.09);
    const reach = canvas.height * 1.2;
    const end = (turn: number) => ({ x: x + Math.cos(turn) * reach, y: y + Math.sin(turn) * reach });
    return polygon([{ x, y }, end(angle - spread), end(angle + spread)], canvas.palette.light, 0.1);
  }).join('');
}

function inhabitant(canvas: Canvas, x: number, y: number): string {
  if (mentions(canvas, 'cabin', 'house', 'cottage', 'camp')) return house(canvas, x, y, 1.5 * canvas.unit);
  if (mentions(canvas, 'mushroom'))
    return [-70, 0, 62]
      .map((shift, index) =>
        mushroom(canvas, x + shift * canvas.unit, y + 20 * canvas.unit, (1.1 - index * 0.2) * canvas.unit),
      )
      .join('');
  return deer(canvas, x, y, 1.15 * canvas.unit);
}

function mushroom(canvas: Canvas, x: number, y: number, scale: number): string {
  const cap = canvas.palette.accents[0];
  return [
    rectangle(x - 13 * scale, y - 70 * scale, 26 * scale, 78 * scale, canvas.palette.accents[3]),
    path(
      `M${px(x - 58 * scale)} ${px(y - 62 * scale)}Q${px(x)} ${px(y - 165 * scale)} ${px(x + 58 * scale)} ${px(y - 62 * scale)}Q${px(x)} ${px(y - 48 * scale)} ${px(x - 58 * scale)} ${px(y - 62 * scale)}Z`,
      cap,
    ),
    circle(x - 18 * scale, y - 84 * scale, 8 * scale, '#ffffff', 0.9),
    circle(x + 16 * scale, y - 94 * scale, 6 * scale, '#ffffff', 0.9),
    ellipse(x + 32 * scale, y - 72 * scale, 6 * scale, 4 * scale, '#ffffff', 0.9),
  ].join('');
}

/** A standing deer with its hooves at y. */
function deer(canvas: Canvas, x: number, y: number, scale: number): string {
  const coat = darker(mix(canvas.palette.accents[0], canvas.palette.near, 0.5), 0.15);
  const at = (dx: number, dy: number): string => `${px(x + dx * scale)} ${px(y + dy * scale)}`;
  const legs = [-44, -32, 34, 46].map((dx) => rectangle(x + dx * scale, y - 78 * scale, 7 * scale, 80 * scale, coat));
  const body = `M${at(-52, -92)}Q${at(-58, -128)} ${at(-20, -128)}L${at(28, -128)}Q${at(44, -140)} ${at(52, -186)}Q${at(58, -204)} ${at(74, -200)}L${at(100, -184)}Q${at(100, -176)} ${at(90, -174)}L${at(74, -170)}Q${at(70, -130)} ${at(56, -92)}Q${at(40, -66)} ${at(24, -76)}Q${at(-10, -68)} ${at(-30, -70)}Q${at(-50, -70)} ${at(-52, -92)}Z`;
  const antlers = `M${at(62, -200)}Q${at(50, -232)} ${at(62, -262)}M${at(56, -226)}L${at(40, -244)}M${at(68, -200)}Q${at(84, -226)} ${at(82, -258)}M${at(80, -232)}L${at(98, -246)}`;
  return [
    ...legs,
    path(body, coat),
    `<path d="${antlers}" fill="none" stroke="${coat}" stroke-width="${px(6 * scale)}" stroke-linecap="round"/>`,
  ].join('');
}
