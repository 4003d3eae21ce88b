import { mentions, type Canvas, type Scene } from '../drawing/canvas.js';
import { darker, lighter, mix } from '../drawing/color.js';
import { circle, curveThrough, ellipse, path, polygon, px, rectangle, stop, verticalGradient } from '../drawing/svg.js';
import { rollingLine } from './ground.js';
import { birds, clouds, sky } from './sky.js';

/** Water to the horizon with light on it, and a boat, an island, or a lighthouse. */
export const sea: Scene = (canvas) => {
  const { width, height, unit, random, palette } = canvas;
  const horizon = height * 0.55;
  const light = {
    x: width * random.between(0.3, 0.7),
    y: horizon - random.between(40, 150) * unit,
    radius: random.between(80, 115) * unit,
  };
  const water = [mix(palette.sky[2], palette.far, 0.35), palette.far, palette.near];
  const side = light.x < width / 2 ? 0.78 : 0.22;
  return [
    sky(canvas, light),
    clouds(canvas, 3),
    birds(canvas, width * (1 - side), height * 0.2),
    islands(canvas, horizon),
    `<defs>${verticalGradient('water', water)}</defs>`,
    rectangle(0, horizon, width, height - horizon, 'url(#water)'),
    reflection(canvas, light.x, horizon),
    mentions(canvas, 'lighthouse', '灯') ? lighthouse(canvas, width * side, horizon + 40 * unit) : '',
    swell(canvas, horizon, 0, 3),
    mentions(canvas, 'beach')
      ? beach(canvas)
      : boat(canvas, width * (1 - side * 0.85), horizon + 120 * unit, 1.25 * unit),
    swell(canvas, horizon, 3, 6),
  ].join('');
};

function islands(canvas: Canvas, horizon: number): string {
  const random = canvas.random.fork('islands');
  return [0, 1]
    .map((index) => {
      const x = random.between(0, 1) * canvas.width;
      const half = random.between(120, 260) * canvas.unit;
      const rise = random.between(40, 90) * canvas.unit;
      const top = [
        { x: x - half, y: horizon },
        { x: x - half * 0.5, y: horizon - rise * 0.6 },
        { x: x - half * 0.05, y: horizon - rise },
        { x: x + half * 0.5, y: horizon - rise * 0.45 },
        { x: x + half, y: horizon },
      ];
      return path(`${curveThrough(top)}Z`, mix(canvas.palette.far, canvas.palette.near, 0.15 + index * 0.15));
    })
    .join('');
}

/** Broken light below the sun, wider towards the viewer. */
function reflection(canvas: Canvas, x: number, horizon: number): string {
  const { height, unit, palette } = canvas;
  const random = canvas.random.fork('reflection');
  return Array.from({ length: 34 }, (_, index) => {
    const depth = (index / 34) ** 1.5;
    const half = (30 + depth * 190) * unit * random.between(0.35, 1);
    const y = horizon + 6 * unit + depth * (height - horizon) * 0.75;
    return ellipse(
      x + random.between(-40, 40) * unit * (0.3 + depth),
      y,
      half,
      (2 + depth * 6) * unit,
      palette.light,
      0.62 - depth * 0.45,
    );
  }).join('');
}

function swell(canvas: Canvas, horizon: number, from: number, to: number): string {
  const { width, height, unit, palette } = canvas;
  let drawn = '';
  for (let index = from; index < to; index++) {
    const level = horizon + (height - horizon) * (0.16 + 0.155 * index);
    const skyline = rollingLine(canvas.random.fork(`swell${index}`), width / 2.4, level, (8 + index * 4) * unit);
    const points = Array.from({ length: 33 }, (_, step) => ({
      x: (width * (step - 0.5)) / 31,
      y: skyline((width * step) / 31),
    }));
    const color = mix(palette.far, palette.near, 0.2 + index * 0.13);
    const crest = curveThrough(points);
    drawn += path(`${crest}V${px(height)}H0Z`, color, 0.8);
    drawn += `<path d="${crest}" fill="none" stroke="${lighter(color, 0.45)}" stroke-width="${px((1.5 + index * 0.7) * unit)}" stroke-opacity="0.5"/>`;
  }
  return drawn;
}

/** A sailing boat with its waterline at y. */
function boat(canvas: Canvas, x: number, y: number, scale: number): string {
  const { palette } = canvas;
  const sail = palette.accents[3];
  const jib = palette.accents[0];
  const hull = darker(palette.near, 0.1);
  return [
    rectangle(x - 3 * scale, y - 215 * scale, 6 * scale, 190 * scale, hull),
    path(
      `M${px(x + 8 * scale)} ${px(y - 210 * scale)}Q${px(x + 105 * scale)} ${px(y - 110 * scale)} ${px(x + 100 * scale)} ${px(y - 38 * scale)}H${px(x + 8 * scale)}Z`,
      sail,
    ),
    path(
      `M${px(x - 8 * scale)} ${px(y - 185 * scale)}Q${px(x - 78 * scale)} ${px(y - 100 * scale)} ${px(x - 80 * scale)} ${px(y - 38 * scale)}H${px(x - 8 * scale)}Z`,
      jib,
    ),
    path(
      `M${px(x - 112 * scale)} ${px(y - 28 * scale)}H${px(x + 122 * scale)}Q${px(x + 95 * scale)} ${px(y + 24 * scale)} ${px(x + 50 * scale)} ${px(y + 26 * scale)}H${px(x - 62 * scale)}Q${px(x - 98 * scale)} ${px(y + 18 * scale)} ${px(x - 112 * scale)} ${px(y - 28 * scale)}Z`,
      hull,
    ),
    rectangle(x - 106 * scale, y - 20 * scale, 222 * scale, 5 * scale, palette.accents[1], 0.9),
    ellipse(x, y + 34 * scale, 150 * scale, 7 * scale, palette.near, 0.35),
  ].join('');
}

function lighthouse(canvas: Canvas, x: number, y: number): string {
  const { unit, palette } = canvas;
  const side = x > canvas.width / 2 ? -1 : 1;
  const at = (share: number): number => y - share * 330 * unit;
  const half = (share: number): number => (40 - share * 17) * unit;
  const band = (from: number, to: number, fill: string): string =>
    polygon(
      [
        { x: x - half(from), y: at(from) },
        { x: x + half(from), y: at(from) },
        { x: x + half(to), y: at(to) },
        { x: x - half(to), y: at(to) },
      ],
      fill,
    );
  const bands = [0, 1, 2, 3, 4].map((index) =>
    band(index * 0.2, (index + 1) * 0.2, index % 2 === 0 ? palette.accents[3] : palette.accents[0]),
  );
  return [
    `<defs><linearGradient id="beam" x1="${side < 0 ? 1 : 0}" y1="0" x2="${side < 0 ? 0 : 1}" y2="0">${stop(0, palette.light, 0.6)}${stop(1, palette.light, 0)}</linearGradient></defs>`,
    polygon(
      [
        { x, y: at(1.09) },
        { x: x + side * 720 * unit, y: at(1.5) },
        { x: x + side * 720 * unit, y: at(0.9) },
      ],
      'url(#beam)',
    ),
    path(
      `M${px(x - 190 * unit)} ${px(y + 50 * unit)}Q${px(x - 120 * unit)} ${px(y - 35 * unit)} ${px(x)} ${px(y - 30 * unit)}T${px(x + 210 * unit)} ${px(y + 50 * unit)}Z`,
      darker(palette.near, 0.15),
    ),
    ...bands,
    rectangle(x - 31 * unit, at(1) - 9 * unit, 62 * unit, 11 * unit, palette.near),
    rectangle(x - 17 * unit, at(1.14), 34 * unit, 38 * unit, palette.light),
    circle(x, at(1.08), 52 * unit, 'url(#glow)'),
    path(
      `M${px(x - 25 * unit)} ${px(at(1.135))}Q${px(x)} ${px(at(1.28))} ${px(x + 25 * unit)} ${px(at(1.135))}Z`,
      palette.accents[0],
    ),
  ].join('');
}

function beach(canvas: Canvas): string {
  const { width, height, unit } = canvas;
  const sand = mix('#f2d6a2', canvas.palette.sky[2], 0.25);
  const skyline = rollingLine(canvas.random.fork('beach'), width, height * 0.8, 20 * unit);
  const points = Array.from({ length: 18 }, (_, step) => ({
    x: (width * (step - 0.5)) / 16,
    y: skyline((width * step) / 16),
  }));
  const edge = curveThrough(points);
  return `${path(`${edge}V${px(height)}H0Z`, sand)}<path d="${edge}" fill="none" stroke="#ffffff" stroke-width="${px(9 * unit)}" stroke-opacity="0.75"/>`;
}
