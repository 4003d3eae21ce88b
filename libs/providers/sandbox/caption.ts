import { px, escapeXml, rectangle, stop } from './drawing/svg.js';

const FONT = 'DejaVu Sans, sans-serif';
/** Shown on every sandbox image. */
const MARK = 'SANDBOX SAMPLE';
/** Only this many graphemes of a prompt are processed; far fewer fit on an image. */
const MAX_GRAPHEMES = 600;
/** Offsets and opacities of the shade behind the text, from its upper edge down. */
const SCRIM = [
  [0, 0],
  [0.55, 0.5],
  [1, 0.72],
] as const;
const DARK_SCRIM = [
  [0, 0],
  [0.28, 0.9],
  [1, 0.97],
] as const;
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Extended_Pictographic}]/u;

interface CaptionArea {
  readonly width: number;
  readonly height: number;
  /** See Canvas.unit. */
  readonly unit: number;
}

/**
 * The prompt as readable text over the darkened bottom of the image, with the sandbox's mark. `shade` is a dark color
 * for an opaque bottom, if the image below may contain text.
 */
export function caption(prompt: string, { width, height, unit }: CaptionArea, shade?: string): string {
  const margin = 44 * unit;
  const size = 38 * unit;
  const lines = size < 5 ? [] : wrap(prompt, (width - margin * 2) / size, 3);
  const block = lines.length * size * 1.28;
  const foot = height - margin * 0.95;
  const depth = Math.min(height * 0.6, block + (shade === undefined ? 190 : 240) * unit);
  const isRightToLeft = RIGHT_TO_LEFT.test(lines[0] ?? '');
  const x = isRightToLeft ? width - margin : margin;
  const text = lines.map((line, index) => {
    const y = foot - 40 * unit - (lines.length - 1 - index) * size * 1.28;
    return `<text x="${px(x)}" y="${px(y)}" font-size="${px(size)}" font-weight="bold" ${isRightToLeft ? 'direction="rtl"' : ''} fill="#ffffff">${escapeXml(line)}</text>`;
  });
  const scrim = shade === undefined ? SCRIM : DARK_SCRIM;
  return [
    `<defs><linearGradient id="scrim" x1="0" y1="0" x2="0" y2="1">${scrim.map(([at, opacity]) => stop(at, shade ?? '#000000', opacity)).join('')}</linearGradient></defs>`,
    rectangle(0, height - depth, width, depth, 'url(#scrim)'),
    `<g font-family="${FONT}">${text.join('')}${mark(margin, foot, unit)}</g>`,
  ].join('');
}

function mark(x: number, y: number, unit: number): string {
  const size = Math.max(17 * unit, 4);
  return `<text x="${px(x)}" y="${px(y)}" font-size="${px(size)}" letter-spacing="${px(size * 0.22)}" fill="#ffffff" fill-opacity="0.85">${MARK}</text>`;
}

/** Breaks text into at most `maxLines` lines of `width` (in font sizes); text that does not fit ends in an ellipsis. */
export function wrap(text: string, width: number, maxLines: number): string[] {
  const words = shorten(text)
    .split(' ')
    .flatMap((word) => breakable(word, width));
  const lines: string[] = [];
  let line = '';
  for (const { word, glue } of words) {
    const longer = line === '' ? word : line + glue + word;
    if (advance(longer) <= width) {
      line = longer;
      continue;
    }
    lines.push(line);
    line = word;
    if (lines.length === maxLines) return [...lines.slice(0, -1), ellipsize(lines.at(-1) ?? '', width)];
  }
  if (line !== '') lines.push(line);
  return lines.filter((candidate) => candidate !== '');
}

/** Splits a word into pieces that fit on a line; scripts without spaces may break anywhere. */
function breakable(word: string, width: number): { word: string; glue: string }[] {
  if (advance(word) <= width && !WIDE.test(word)) return [{ word, glue: ' ' }];
  return graphemes(word).map((piece, index) => ({ word: piece, glue: index === 0 ? ' ' : '' }));
}

function ellipsize(line: string, width: number): string {
  const pieces = graphemes(line);
  while (pieces.length > 0 && advance(`${pieces.join('')}…`) > width) pieces.pop();
  return `${pieces.join('').trimEnd()}…`;
}

function shorten(text: string): string {
  const pieces = graphemes(
    text
      .slice(0, MAX_GRAPHEMES * 8)
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .trim(),
  );
  return pieces.length > MAX_GRAPHEMES ? `${pieces.slice(0, MAX_GRAPHEMES).join('')}…` : pieces.join('');
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

function graphemes(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** Estimated width of bold text, in font sizes; rather too wide than too narrow. */
function advance(text: string): number {
  let sum = 0;
  for (const piece of graphemes(text)) {
    if (WIDE.test(piece)) sum += 1.35;
    else if (/[ijl.,:;'|!I ]/u.test(piece)) sum += 0.38;
    else if (/[cfrstzJ-]/u.test(piece)) sum += 0.58;
    else if (/[mwMW@%]/u.test(piece)) sum += 1.06;
    else if (/[\p{Lu}\p{N}&]/u.test(piece)) sum += 0.78;
    else sum += 0.69;
  }
  return sum;
}
