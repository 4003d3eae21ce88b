import { mentions, type Canvas, type Scene } from '../drawing/canvas.js';
import { darker, lighter, mix } from '../drawing/color.js';
import { circle, ellipse, glowGradient, line, path, px, rectangle, verticalGradient } from '../drawing/svg.js';
import { hill, rollingLine } from './ground.js';
import { stars } from './sky.js';

type Kind = 'cat' | 'dog' | 'fox' | 'bear' | 'rabbit' | 'owl';

/** Position of a face: its center and its scale (1 = 300 pixels from ear to ear). */
interface Face {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
  readonly fur: string;
  readonly shade: string;
  readonly pale: string;
}

/** A portrait of an animal in front of a large disc of light. */
export const animal: Scene = (canvas) => {
  const { width, height, unit, random, palette } = canvas;
  const kind = kindOf(canvas);
  const fur = furOf(canvas, kind);
  const face: Face = {
    x: width / 2,
    y: height * 0.43,
    scale: 1.35 * unit,
    fur,
    shade: darker(fur, 0.28),
    pale: lighter(fur, 0.72),
  };
  const disc = mix(palette.sky[2], palette.light, 0.55);
  const skyline = rollingLine(random.fork('ground'), width, height * 0.8, 26 * unit);
  return [
    `<defs>${verticalGradient('sky', [palette.sky[0], palette.sky[1]])}${glowGradient('glow', disc, 0.7)}</defs>`,
    rectangle(0, 0, width, height, 'url(#sky)'),
    palette.isDark ? stars(canvas, 0.9) : confetti(canvas),
    circle(width / 2, height * 0.44, 640 * unit, 'url(#glow)'),
    circle(width / 2, height * 0.44, 345 * unit, disc),
    body(face),
    kind === 'owl' ? owlFace(face, palette.accents[1]) : mammalFace(kind, face, palette.accents[1], palette.near),
    kind === 'cat' || kind === 'dog'
      ? collar(face, palette.accents[0] === fur ? palette.accents[2] : palette.accents[0], palette.accents[1])
      : '',
    hill(canvas, skyline, palette.near),
    leaves(canvas, height * 0.82),
  ].join('');
};

function kindOf(canvas: Canvas): Kind {
  if (mentions(canvas, 'dog', 'puppy', 'perro', 'chien', 'hund', '狗', '犬', 'собака', 'wolf')) return 'dog';
  if (mentions(canvas, 'fox', '狐', 'tiger', '虎')) return 'fox';
  if (mentions(canvas, 'bear', 'panda', 'koala', 'mouse', '熊', 'lion')) return 'bear';
  if (mentions(canvas, 'rabbit', 'bunny', '兔')) return 'rabbit';
  return mentions(canvas, 'owl') ? 'owl' : 'cat';
}

function furOf(canvas: Canvas, kind: Kind): string {
  if (mentions(canvas, 'panda')) return '#f1ede6';
  const named = mentions(
    canvas,
    'red',
    'orange',
    'blue',
    'green',
    'pink',
    'black',
    'white',
    'grey',
    'gray',
    'brown',
    'yellow',
    'purple',
    '红',
    '白',
    '黑',
  );
  if (named) return canvas.palette.accents[0];
  const usual = { cat: '#e8935a', dog: '#b98052', fox: '#e2672c', bear: '#8a5a3b', rabbit: '#d9cdc4', owl: '#8b6a4f' };
  return mix(usual[kind], canvas.palette.near, 0.08);
}

function body({ x, y, scale, fur, shade, pale }: Face): string {
  const shoulders = `M${px(x - 205 * scale)} ${px(y + 420 * scale)}C${px(x - 190 * scale)} ${px(y + 190 * scale)} ${px(x - 110 * scale)} ${px(y + 110 * scale)} ${px(x)} ${px(y + 110 * scale)}C${px(x + 110 * scale)} ${px(y + 110 * scale)} ${px(x + 190 * scale)} ${px(y + 190 * scale)} ${px(x + 205 * scale)} ${px(y + 420 * scale)}Z`;
  return path(shoulders, mix(fur, shade, 0.5)) + ellipse(x, y + 300 * scale, 92 * scale, 150 * scale, pale, 0.85);
}

function mammalFace(kind: Kind, face: Face, iris: string, ink: string): string {
  const { x, y, scale, fur, shade, pale } = face;
  const isRound = kind === 'bear' || kind === 'rabbit';
  const head = isRound
    ? ellipse(x, y + 10 * scale, 150 * scale, 138 * scale, fur)
    : path(
        `M${px(x - 158 * scale)} ${px(y + 10 * scale)}C${px(x - 160 * scale)} ${px(y - 100 * scale)} ${px(x - 70 * scale)} ${px(y - 124 * scale)} ${px(x)} ${px(y - 122 * scale)}C${px(x + 70 * scale)} ${px(y - 124 * scale)} ${px(x + 160 * scale)} ${px(y - 100 * scale)} ${px(x + 158 * scale)} ${px(y + 10 * scale)}C${px(x + 150 * scale)} ${px(y + 100 * scale)} ${px(x + 70 * scale)} ${px(y + 146 * scale)} ${px(x)} ${px(y + 148 * scale)}C${px(x - 70 * scale)} ${px(y + 146 * scale)} ${px(x - 150 * scale)} ${px(y + 100 * scale)} ${px(x - 158 * scale)} ${px(y + 10 * scale)}Z`,
        fur,
      );
  return [
    ears(kind, face),
    head,
    kind === 'cat' ? stripes(face) : '',
    muzzle(kind, face),
    eyes(face, iris, ink),
    path(
      `M${px(x - 22 * scale)} ${px(y + 40 * scale)}Q${px(x)} ${px(y + 30 * scale)} ${px(x + 22 * scale)} ${px(y + 40 * scale)}Q${px(x + 12 * scale)} ${px(y + 62 * scale)} ${px(x)} ${px(y + 64 * scale)}Q${px(x - 12 * scale)} ${px(y + 62 * scale)} ${px(x - 22 * scale)} ${px(y + 40 * scale)}Z`,
      kind === 'cat' || kind === 'rabbit' ? '#d9727f' : ink,
    ),
    line(
      `M${px(x)} ${px(y + 62 * scale)}V${px(y + 78 * scale)}M${px(x - 34 * scale)} ${px(y + 78 * scale)}Q${px(x - 14 * scale)} ${px(y + 98 * scale)} ${px(x)} ${px(y + 78 * scale)}Q${px(x + 14 * scale)} ${px(y + 98 * scale)} ${px(x + 34 * scale)} ${px(y + 78 * scale)}`,
      darker(shade, 0.4),
      5 * scale,
    ),
    kind === 'cat' || kind === 'fox' || kind === 'rabbit' ? whiskers(face, lighter(pale, 0.4)) : '',
  ].join('');
}

function ears(kind: Kind, { x, y, scale, fur, shade }: Face): string {
  const both = (draw: (side: number) => string): string => draw(-1) + draw(1);
  const inner = mix('#e79a9a', fur, 0.35);
  if (kind === 'bear')
    return both(
      (side) =>
        circle(x + side * 112 * scale, y - 96 * scale, 54 * scale, shade) +
        circle(x + side * 112 * scale, y - 92 * scale, 30 * scale, inner, 0.7),
    );
  if (kind === 'rabbit')
    return both(
      (side) =>
        `<g transform="rotate(${side * 9} ${px(x)} ${px(y)})">${ellipse(x + side * 62 * scale, y - 210 * scale, 42 * scale, 135 * scale, fur)}${ellipse(x + side * 62 * scale, y - 205 * scale, 22 * scale, 105 * scale, inner)}</g>`,
    );
  if (kind === 'dog')
    return both((side) =>
      path(
        `M${px(x + side * 88 * scale)} ${px(y - 112 * scale)}C${px(x + side * 190 * scale)} ${px(y - 130 * scale)} ${px(x + side * 225 * scale)} ${px(y)} ${px(x + side * 188 * scale)} ${px(y + 92 * scale)}C${px(x + side * 165 * scale)} ${px(y + 106 * scale)} ${px(x + side * 140 * scale)} ${px(y + 20 * scale)} ${px(x + side * 120 * scale)} ${px(y - 40 * scale)}Z`,
        shade,
      ),
    );
  const ear = (side: number, size: number, fill: string): string =>
    path(
      `M${px(x + side * (96 + 58 * size) * scale)} ${px(y + (-96 + 70 * size) * scale)}Q${px(x + side * (100 + 60 * size) * scale)} ${px(y - (96 + 70 * size) * scale)} ${px(x + side * (104 + 42 * size) * scale)} ${px(y - (118 + 100 * size) * scale)}Q${px(x + side * (96 - 40 * size) * scale)} ${px(y - (100 + 60 * size) * scale)} ${px(x + side * (96 - 62 * size) * scale)} ${px(y - 98 * scale)}Z`,
      fill,
    );
  return both((side) => ear(side, 1, fur) + ear(side, 0.6, inner));
}

function muzzle(kind: Kind, { x, y, scale, shade, pale }: Face): string {
  if (kind === 'fox')
    return [-1, 1]
      .map((side) =>
        path(
          `M${px(x)} ${px(y + 30 * scale)}C${px(x + side * 60 * scale)} ${px(y + 10 * scale)} ${px(x + side * 120 * scale)} ${px(y + 10 * scale)} ${px(x + side * 155 * scale)} ${px(y + 24 * scale)}C${px(x + side * 140 * scale)} ${px(y + 110 * scale)} ${px(x + side * 60 * scale)} ${px(y + 146 * scale)} ${px(x)} ${px(y + 148 * scale)}Z`,
          '#fff7ee',
        ),
      )
      .join('');
  const patch = kind === 'dog' ? ellipse(x - 66 * scale, y - 20 * scale, 58 * scale, 66 * scale, shade, 0.7) : '';
  return (
    patch +
    ellipse(x - 32 * scale, y + 74 * scale, 46 * scale, 40 * scale, pale) +
    ellipse(x + 32 * scale, y + 74 * scale, 46 * scale, 40 * scale, pale)
  );
}

function eyes({ x, y, scale }: Face, iris: string, ink: string): string {
  return [-66, 66]
    .map((shift) =>
      [
        ellipse(x + shift * scale, y - 14 * scale, 31 * scale, 34 * scale, iris),
        ellipse(x + shift * scale, y - 14 * scale, 17 * scale, 29 * scale, ink),
        circle(x + (shift + 9) * scale, y - 27 * scale, 8 * scale, '#ffffff'),
      ].join(''),
    )
    .join('');
}

function stripes({ x, y, scale, shade }: Face): string {
  const marks = [-34, 0, 34].map(
    (shift) =>
      `M${px(x + shift * scale)} ${px(y - 112 * scale)}L${px(x + shift * 0.75 * scale)} ${px(y - (shift === 0 ? 58 : 72) * scale)}`,
  );
  const cheeks = [-1, 1].flatMap((side) =>
    [14, 44].map(
      (low) =>
        `M${px(x + side * 150 * scale)} ${px(y + low * scale)}L${px(x + side * 112 * scale)} ${px(y + (low + 6) * scale)}`,
    ),
  );
  return line([...marks, ...cheeks].join(''), shade, 13 * scale, 0.8);
}

function whiskers({ x, y, scale }: Face, color: string): string {
  const hairs = [-1, 1].flatMap((side) =>
    [-14, 2, 18].map(
      (lift) =>
        `M${px(x + side * 62 * scale)} ${px(y + (72 + lift * 0.4) * scale)}Q${px(x + side * 140 * scale)} ${px(y + (60 + lift) * scale)} ${px(x + side * 212 * scale)} ${px(y + (66 + lift * 1.9) * scale)}`,
    ),
  );
  return line(hairs.join(''), color, 3.4 * scale, 0.9);
}

function owlFace({ x, y, scale, fur, shade, pale }: Face, iris: string): string {
  const horns = [-1, 1].map((side) =>
    path(
      `M${px(x + side * 40 * scale)} ${px(y - 100 * scale)}L${px(x + side * 150 * scale)} ${px(y - 190 * scale)}L${px(x + side * 152 * scale)} ${px(y - 30 * scale)}Z`,
      shade,
    ),
  );
  const round = [-1, 1].map(
    (side) =>
      circle(x + side * 70 * scale, y - 10 * scale, 82 * scale, pale) +
      circle(x + side * 70 * scale, y - 10 * scale, 54 * scale, iris) +
      circle(x + side * 70 * scale, y - 10 * scale, 32 * scale, '#20181a') +
      circle(x + side * 70 * scale + 12 * scale, y - 24 * scale, 11 * scale, '#ffffff'),
  );
  const beak = path(
    `M${px(x - 24 * scale)} ${px(y + 32 * scale)}Q${px(x)} ${px(y + 18 * scale)} ${px(x + 24 * scale)} ${px(y + 32 * scale)}L${px(x)} ${px(y + 88 * scale)}Z`,
    '#f0a13a',
  );
  return [...horns, ellipse(x, y + 6 * scale, 160 * scale, 145 * scale, fur), ...round, beak].join('');
}

function collar({ x, y, scale }: Face, band: string, tag: string): string {
  return (
    line(
      `M${px(x - 108 * scale)} ${px(y + 150 * scale)}Q${px(x)} ${px(y + 206 * scale)} ${px(x + 108 * scale)} ${px(y + 150 * scale)}`,
      band,
      24 * scale,
    ) +
    circle(x, y + 200 * scale, 20 * scale, tag) +
    circle(x, y + 200 * scale, 20 * scale, '#ffffff', 0.18)
  );
}

function confetti(canvas: Canvas): string {
  const random = canvas.random.fork('confetti');
  return Array.from({ length: 46 }, () =>
    circle(
      random.between(0, canvas.width),
      random.between(0, canvas.height),
      random.between(5, 22) * canvas.unit,
      random.pick(canvas.palette.accents),
      0.22,
    ),
  ).join('');
}

function leaves(canvas: Canvas, y: number): string {
  const random = canvas.random.fork('leaves');
  const count = Math.round((canvas.width / canvas.unit / 1000) * 26);
  return Array.from({ length: count }, () => {
    const x = random.between(0, canvas.width);
    const tall = random.between(60, 150) * canvas.unit;
    const lean = random.between(-40, 40) * canvas.unit;
    const half = tall * 0.16;
    return path(
      `M${px(x - half)} ${px(y + 60 * canvas.unit)}Q${px(x - half + lean * 0.4)} ${px(y - tall * 0.5)} ${px(x + lean)} ${px(y - tall * 0.62)}Q${px(x + half + lean * 0.4)} ${px(y - tall * 0.3)} ${px(x + half)} ${px(y + 60 * canvas.unit)}Z`,
      mix(canvas.palette.near, random.pick(canvas.palette.accents), 0.28),
    );
  }).join('');
}
