import { ImageError } from './image-error.js';

const START_OF_IMAGE = 0xd8;
const END_OF_IMAGE = 0xd9;
const START_OF_SCAN = 0xda;
const COMMENT = 0xfe;

/** Copies a JPEG without its metadata segments and without anything behind its end. Throws ImageError. */
export function stripJpeg(bytes: Buffer): Buffer {
  const kept: Buffer[] = [bytes.subarray(0, 2)];
  let offset = 2;
  while (offset + 1 < bytes.length) {
    if (bytes[offset] !== 0xff) break;
    const marker = bytes[offset + 1] ?? 0;
    if (marker === 0xff) {
      offset += 1; // a fill byte
    } else if (marker === END_OF_IMAGE) {
      kept.push(bytes.subarray(offset, offset + 2));
      return Buffer.concat(kept);
    } else if (standsAlone(marker)) {
      kept.push(bytes.subarray(offset, offset + 2));
      offset += 2;
    } else {
      const end = segmentEnd(bytes, offset, marker);
      if (isNeeded(marker, bytes.subarray(offset + 4, end))) kept.push(bytes.subarray(offset, end));
      offset = end;
    }
  }
  throw damaged();
}

function segmentEnd(bytes: Buffer, offset: number, marker: number): number {
  if (offset + 4 > bytes.length) throw damaged();
  const end = offset + 2 + bytes.readUInt16BE(offset + 2);
  if (end < offset + 4 || end > bytes.length) throw damaged();
  return marker === START_OF_SCAN ? scanEnd(bytes, end) : end;
}

/** Where the compressed pixels after a scan header end: at the first marker that is neither stuffing nor restart. */
function scanEnd(bytes: Buffer, start: number): number {
  let offset = bytes.indexOf(0xff, start);
  while (offset !== -1 && offset + 1 < bytes.length) {
    const next = bytes[offset + 1] ?? 0;
    if (next !== 0 && next !== 0xff && !isRestart(next)) return offset;
    offset = bytes.indexOf(0xff, next === 0xff ? offset + 1 : offset + 2);
  }
  throw damaged();
}

/** JFIF, the colour profile and Adobe's colour mark say how pixels are read; other application data is metadata. */
function isNeeded(marker: number, content: Buffer): boolean {
  if (marker === COMMENT) return false;
  if (marker < 0xe0 || marker > 0xef) return true;
  if (marker === 0xe0) return content.toString('latin1', 0, 5) === 'JFIF\0';
  if (marker === 0xe2) return content.toString('latin1', 0, 12) === 'ICC_PROFILE\0';
  return marker === 0xee && content.toString('latin1', 0, 5) === 'Adobe';
}

function standsAlone(marker: number): boolean {
  return marker === START_OF_IMAGE || marker === 0x01 || isRestart(marker);
}

function isRestart(marker: number): boolean {
  return marker >= 0xd0 && marker <= 0xd7;
}

function damaged(): ImageError {
  return new ImageError('invalid_image_file', 'The JPEG file is damaged or incomplete.');
}
