import type { Canvas } from '../drawing/canvas.js';
import { circle, path, px, rectangle } from '../drawing/svg.js';
import type { Skyline } from './ground.js';

/** A conifer with its foot at x, y. */
function pine(x: number, y: number, height: number, fill: string): string {
  const tiers = [0, 0.24, 0.46].map((from, index) => {
    const top = y - height * (1 - from);
    const bottom = y - height * (0.5 - index * 0.2);
    const half = height * (0.13 + index * 0.055);
    return `M${px(x)} ${px(top)}L${px(x + half)} ${px(bottom)}Q${px(x)} ${px(bottom - height * 0.05)} ${px(x - half)} ${px(bottom)}Z`;
  });
  return (
    rectangle(x - height * 0.025, y - height * 0.15, height * 0.05, height * 0.2, fill) + path(tiers.join(''), fill)
  );
}

/** A round tree with its foot at x, y. */
export function roundTree(x: number, y: number, height: number, fill: string, trunk: string): string {
  const crown = height * 0.3;
  return [
    rectangle(x - height * 0.03, y - height * 0.5, height * 0.06, height * 0.53, trunk),
    circle(x, y - height * 0.68, crown, fill),
    circle(x - crown * 0.7, y - height * 0.52, crown * 0.66, fill),
    circle(x + crown * 0.7, y - height * 0.55, crown * 0.7, fill),
    circle(x - crown * 0.25, y - height * 0.76, crown * 0.5, '#ffffff', 0.1),
  ].join('');
}

/** Conifers along a line, in groves rather than evenly; heights in pixels. */
export function pinesAlong(
  canvas: Canvas,
  name: string,
  skyline: Skyline,
  fill: string,
  tall: number,
  density: number,
): string {
  const random = canvas.random.fork(name);
  const count = Math.min(160, Math.round((canvas.width / tall) * 3.4 * density));
  return Array.from({ length: count }, () => {
    const x = random.between(-0.02, 1.02) * canvas.width;
    const grove = 0.5 + 0.5 * Math.sin((x / canvas.width) * 9 + tall);
    const height = tall * random.between(0.5, 1) * (0.6 + 0.5 * grove);
    return random.chance(0.25 + grove * 0.75) ? pine(x, skyline(x) + tall * 0.06, height, fill) : '';
  }).join('');
}
