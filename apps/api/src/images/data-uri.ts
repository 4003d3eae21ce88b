import { AppError } from '#contract/app-error.js';
import { dataUriStart } from '#contract/image-reference.js';

/** Characters decoded at a time; a multiple of four. */
const STEP = 262_144;
const FULL = /^[A-Za-z0-9+/]*$/;
const LAST = /^[A-Za-z0-9+/]*={0,2}$/;

/** The bytes of a data URI, piece by piece. Throws AppError `invalid_base64_image` when it comes to a wrong character. */
export function* decodeDataUri(reference: string, param: string): Generator<Buffer> {
  const end = reference.length;
  for (let start = dataUriStart(reference); start < end; start += STEP) {
    const piece = reference.slice(start, start + STEP);
    const last = start + STEP >= end;
    if (!(last ? isLastPiece(piece) : FULL.test(piece))) {
      throw new AppError('invalid_base64_image', `${param} is not valid base64`, { param });
    }
    yield Buffer.from(piece, 'base64');
  }
}

function isLastPiece(piece: string): boolean {
  const padding = piece.endsWith('==') ? 2 : piece.endsWith('=') ? 1 : 0;
  const complete = padding > 0 ? piece.length % 4 === 0 : piece.length % 4 !== 1;
  return complete && LAST.test(piece);
}
