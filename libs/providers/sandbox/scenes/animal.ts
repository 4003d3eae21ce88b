import { mentions, type Canvas } from '../drawing/canvas.js';
import { darker, lighter, mix } from '../drawing/color.js';
import { circle, ellipse, line, mirrored, path } from '../drawing/svg.js';

interface Coat {
  readonly fur: string;
  readonly shade: string;
  readonly pale: string;
}

type Kind = 'cat' | 'dog' | 'fox' | 'bear' | 'rabbit' | 'owl';

const FUR = { cat: '#e8935a', dog: '#b98052', fox: '#e2672c', bear: '#8a5a3b', rabbit: '#d9cdc4', owl: '#8b6a4f' };
const ROUND_HEAD = 'M-150 10A150 138 0 0 1 150 10A150 138 0 0 1-150 10Z';
const BROAD_HEAD = 'M-158 10C-160-100-70-124 0-122C70-124 160-100 158 10C150 100 70 146 0 148C-70 146-150 100-158 10Z';

/** The face and shoulders of an animal around 0, 0; the head is about 320 wide. */
export function animal(canvas: Canvas): string {
  const { palette } = canvas;
  const kind = kindOf(canvas);
  const fur = mentions(canvas, 'panda') ? '#f1ede6' : (palette.named ?? mix(FUR[kind], palette.near, 0.08));
  const coat = { fur, shade: darker(fur, 0.28), pale: lighter(fur, 0.72) };
  const isPet = kind === 'cat' || kind === 'dog';
  const band = palette.named === undefined ? palette.accents[0] : palette.accents[2];
  return [
    path('M-205 420C-190 190-110 110 0 110C110 110 190 190 205 420Z', mix(fur, coat.shade, 0.5)),
    ellipse(0, 300, 92, 150, coat.pale, 0.85),
    kind === 'owl' ? owlFace(coat, palette.accents[1]) : mammalFace(kind, coat, palette.accents[1], palette.near),
    isPet ? line('M-108 150Q0 206 108 150', band, 24) + circle(0, 200, 20, lighter(palette.accents[1], 0.18)) : '',
  ].join('');
}

function kindOf(canvas: Canvas): Kind {
  if (mentions(canvas, 'dog', 'puppy', 'perro', 'chien', 'hund', '狗', '犬', 'собака', 'wolf')) return 'dog';
  if (mentions(canvas, 'fox', '狐', 'tiger', '虎')) return 'fox';
  if (mentions(canvas, 'bear', 'panda', 'koala', 'mouse', '熊', 'lion')) return 'bear';
  if (mentions(canvas, 'rabbit', 'bunny', '兔')) return 'rabbit';
  return mentions(canvas, 'owl') ? 'owl' : 'cat';
}

function mammalFace(kind: Exclude<Kind, 'owl'>, coat: Coat, iris: string, ink: string): string {
  const { fur, shade, pale } = coat;
  const hasPinkNose = kind === 'cat' || kind === 'rabbit';
  return [
    mirrored(ear(kind, coat)),
    path(kind === 'bear' || kind === 'rabbit' ? ROUND_HEAD : BROAD_HEAD, fur),
    kind === 'cat' ? line('M-34-112L-26-72M0-112V-58M34-112L26-72', shade, 13, 0.8) : '',
    kind === 'cat' ? mirrored(line('M150 14L112 20M150 44L112 50', shade, 13, 0.8)) : '',
    kind === 'dog' ? ellipse(-66, -20, 58, 66, shade, 0.7) : '',
    kind === 'fox'
      ? mirrored(path('M0 30C60 10 120 10 155 24C140 110 60 146 0 148Z', '#fff7ee'))
      : mirrored(ellipse(32, 74, 46, 40, pale)),
    eye(-66, iris, ink),
    eye(66, iris, ink),
    path('M-22 40Q0 30 22 40Q12 62 0 64Q-12 62-22 40Z', hasPinkNose ? '#d9727f' : ink),
    line('M0 62V78M-34 78Q-14 98 0 78Q14 98 34 78', darker(shade, 0.4), 5),
    kind === 'bear' || kind === 'dog'
      ? ''
      : mirrored(line('M62 66Q140 46 212 39M62 73Q140 62 212 70M62 79Q140 78 212 100', lighter(pale, 0.4), 3.4, 0.9)),
  ].join('');
}

/** The right ear. */
function ear(kind: Exclude<Kind, 'owl'>, { fur, shade }: Coat): string {
  const inner = mix('#e79a9a', fur, 0.35);
  switch (kind) {
    case 'bear':
      return circle(112, -96, 54, shade) + circle(112, -92, 30, inner, 0.7);
    case 'dog':
      return path('M88-112C190-130 225 0 188 92C165 106 140 20 120-40Z', shade);
    case 'rabbit':
      return `<g transform="rotate(9)">${ellipse(62, -190, 42, 118, fur)}${ellipse(62, -185, 22, 90, inner)}</g>`;
    default:
      return path('M154-26Q160-166 146-218Q56-160 34-98Z', fur) + path('M131-54Q136-138 129-178Q72-136 59-98Z', inner);
  }
}

function eye(x: number, iris: string, ink: string): string {
  return ellipse(x, -14, 31, 34, iris) + ellipse(x, -14, 17, 29, ink) + circle(x + 9, -27, 8, '#ffffff');
}

function owlFace({ fur, shade, pale }: Coat, iris: string): string {
  const eyes = [-70, 70].map((x) =>
    [
      circle(x, -10, 82, pale),
      circle(x, -10, 54, iris),
      circle(x, -10, 32, '#20181a'),
      circle(x + 12, -24, 11, '#ffffff'),
    ].join(''),
  );
  return [
    mirrored(path('M40-100L150-190L152-30Z', shade)),
    ellipse(0, 6, 160, 145, fur),
    ...eyes,
    path('M-24 32Q0 18 24 32L0 88Z', '#f0a13a'),
  ].join('');
}
