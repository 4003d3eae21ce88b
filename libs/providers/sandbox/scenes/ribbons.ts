import type { Scene } from '../drawing/canvas.js';
import { lighter, mix } from '../drawing/color.js';
import { circle, curveThrough, glowGradient, px, rectangle, stop, verticalGradient } from '../drawing/svg.js';

const RIBBONS = 9;
const KNOTS = 8;

/** Bands of silk that flow across a soft sky. */
export const ribbons: Scene = ({ width, height, unit, random, palette }) => {
  const phase = random.between(0, 6.28);
  const swell = random.between(0.1, 0.17) * height;
  const tilt = random.between(-0.22, 0.22) * height;
  const colors = [palette.accents[0], palette.sky[1], palette.accents[1], palette.accents[2], palette.far];
  const gradients = Array.from({ length: RIBBONS }, (_, index) => {
    const color = mix(colors[index % colors.length] ?? palette.far, palette.near, index / (RIBBONS * 2.2));
    return `<linearGradient id="silk${index}" x1="0" y1="0" x2="1" y2="0.35">${stop(0, lighter(color, 0.35), 0.95)}${stop(0.5, color, 0.95)}${stop(1, mix(color, palette.near, 0.45), 0.95)}</linearGradient>`;
  });
  const edge = (index: number): string => {
    const level = height * (0.2 + (index * 0.72) / RIBBONS);
    const knots = Array.from({ length: KNOTS + 2 }, (_, knot) => ({
      x: ((knot - 0.5) * width) / KNOTS,
      y:
        level +
        tilt * (knot / KNOTS - 0.5) +
        Math.sin(knot * 0.95 + phase + index * 0.55) * swell * (0.55 + 0.4 * Math.sin(index * 0.8 + phase)),
    }));
    return curveThrough(knots);
  };
  const bands = gradients.map((_, index) => {
    const line = edge(index);
    const shade = `<path d="${line}" fill="none" stroke="#000000" stroke-width="${px(22 * unit)}" stroke-opacity="0.07"/>`;
    const shine = `<path d="${line}" fill="none" stroke="#ffffff" stroke-width="${px(3.5 * unit)}" stroke-opacity="0.55"/>`;
    return `${shade}<path d="${line}V${px(height)}H0Z" fill="url(#silk${index})"/>${shine}`;
  });
  const light = { x: width * random.between(0.25, 0.75), y: height * 0.2 };
  return [
    `<defs>${verticalGradient('air', [...palette.sky])}${glowGradient('glow', palette.light, 0.9)}${gradients.join('')}</defs>`,
    rectangle(0, 0, width, height, 'url(#air)'),
    circle(light.x, light.y, 480 * unit, 'url(#glow)'),
    circle(light.x, light.y, 90 * unit, palette.light),
    ...bands,
  ].join('');
};
