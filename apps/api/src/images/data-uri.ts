import { AppError } from '#contract/app-error.js';
import { dataUriStart } from '#contract/image-reference.js';
import { piecesOf, type Text } from '#contract/long-text.js';

/** Characters that are decoded at a time. */
const STEP = 262_144;
const FULL = /^[A-Za-z0-9+/]*$/;
const LAST = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Decodes a data URI chunk by chunk; its data may contain line breaks, and a chunk of nothing else is empty. Throws
 * AppError `invalid_base64_image` at an invalid character.
 */
export function* decodeDataUri(reference: Text, param: string): Generator<Buffer> {
  let skipped = dataUriStart(reference) ?? 0;
  let rest = '';
  for (const piece of piecesOf(reference, STEP)) {
    const text = rest + withoutBreaks(piece.slice(skipped));
    skipped = 0;
    // The last group may be the end of the data, so it waits for the next chunk.
    const end = text.length - (text.length % 4 || Math.min(4, text.length));
    rest = text.slice(end);
    if (!FULL.test(text.slice(0, end))) throw invalid(param);
    yield Buffer.from(text.slice(0, end), 'base64');
  }
  if (!isLastGroup(rest)) throw invalid(param);
  if (rest !== '') yield Buffer.from(rest, 'base64');
}

function withoutBreaks(text: string): string {
  return text.includes('\n') || text.includes('\r') ? text.replace(/[\r\n]+/g, '') : text;
}

function isLastGroup(text: string): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const complete = padding > 0 ? text.length === 4 : text.length !== 1;
  return complete && LAST.test(text);
}

function invalid(param: string): AppError {
  return new AppError('invalid_base64_image', `${param} is not valid base64`, { param });
}
