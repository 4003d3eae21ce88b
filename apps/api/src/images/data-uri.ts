import { AppError } from '#contract/app-error.js';
import { dataUriStart } from '#contract/image-reference.js';
import { piecesOf, type Text } from '#contract/long-text.js';

/** Characters that are decoded at a time. */
const STEP = 262_144;
const FULL = /^[A-Za-z0-9+/]*$/;
const LAST = /^[A-Za-z0-9+/]*={0,2}$/;
/** The start of an escape whose end is in the next chunk. */
const CUT_ESCAPE = /%[\dA-F]?$/i;

/**
 * Decodes a data URI chunk by chunk. As in other decoders, its data may contain line breaks, be in the alphabet for
 * URLs, have percent-encoded characters, and end without padding; a chunk of nothing else than line breaks is empty.
 * Throws AppError `invalid_base64_image` at an invalid character.
 */
export function* decodeDataUri(reference: Text, param: string): Generator<Buffer> {
  let skipped = dataUriStart(reference) ?? 0;
  let escape = '';
  let rest = '';
  let isSpaced = false;
  for (const piece of piecesOf(reference, STEP)) {
    const given = escape + piece.slice(skipped);
    skipped = 0;
    escape = CUT_ESCAPE.exec(given)?.[0] ?? '';
    const whole = plainBase64(given.slice(0, given.length - escape.length));
    const data = whole.trimEnd();
    // Spaces may only be around the data: inside, they may stand for a `+` that a form's decoder has replaced.
    if (data !== '' && isSpaced) throw invalid(param);
    isSpaced ||= data.length < whole.length;
    const text = rest + data;
    // The last group may be the end of the data, so it waits for the next chunk.
    const end = text.length - (text.length % 4 || Math.min(4, text.length));
    rest = text.slice(end);
    if (!FULL.test(text.slice(0, end))) throw invalid(param);
    yield Buffer.from(text.slice(0, end), 'base64');
  }
  rest += escape;
  if (!isLastGroup(rest)) throw invalid(param);
  if (rest !== '') yield Buffer.from(rest, 'base64');
}

function plainBase64(text: string): string {
  const decoded = text.includes('%') ? text.replace(/%([2-7][\dA-F]|0[AD])/gi, unescaped) : text;
  const whole = /[\r\n\t]/.test(decoded) ? decoded.replace(/[\r\n\t]+/g, '') : decoded;
  return /[-_]/.test(whole) ? whole.replaceAll('-', '+').replaceAll('_', '/') : whole;
}

function unescaped(_escape: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}

function isLastGroup(text: string): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const complete = padding > 0 ? text.length === 4 : text.length !== 1;
  return complete && LAST.test(text);
}

function invalid(param: string): AppError {
  return new AppError('invalid_base64_image', `${param} is not valid base64`, { param });
}
