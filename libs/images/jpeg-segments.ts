import type { FileParts, PartKind } from './file-parts.js';
import { read, search, skip, type FileReader } from './file-walk.js';
import { ImageError } from './image-error.js';

const START_OF_IMAGE = 0xd8;
const END_OF_IMAGE = 0xd9;
const START_OF_SCAN = 0xda;
const COMMENT = 0xfe;
const FILL = 0xff;
/** Bytes of a segment's content that tell what it is. */
const NAME_BYTES = 12;

/** A JPEG's segments up to its end mark; one with a scan reaches to the end of the scan. Throws ImageError. */
export function* readJpeg(parts: FileParts): FileReader {
  parts.add(yield* skip(2), 'pixels');
  for (;;) {
    const { bytes: first, offset } = yield* read(1);
    if (first[0] !== FILL) throw damagedJpeg();
    const markerAt = yield* search(fillEnd);
    if (markerAt > offset) parts.add(markerAt - 1, 'other');
    const { bytes, offset: markerEnd } = yield* read(1);
    const marker = bytes.readUInt8(0);
    if (standsAlone(marker)) parts.add(markerEnd, 'pixels');
    else yield* readSegment(marker, parts);
    if (marker === END_OF_IMAGE) return;
  }
}

function* readSegment(marker: number, parts: FileParts): FileReader {
  const length = (yield* read(2)).bytes.readUInt16BE(0) - 2;
  if (length < 0) throw damagedJpeg();
  const { bytes: name } = yield* read(Math.min(length, NAME_BYTES));
  const kind = kindOf(marker, name.toString('latin1'));
  const end = yield* skip(length - name.length);
  parts.add(marker === START_OF_SCAN ? yield* search(scanEnd) : end, kind);
}

/** Any number of fill bytes may stand before a marker. */
function fillEnd(bytes: Buffer): { passed: number; found: boolean } {
  let passed = 0;
  while (bytes[passed] === FILL) passed += 1;
  return { passed, found: passed < bytes.length };
}

/** Where the compressed pixels after a scan header end: at the first marker that is neither stuffing nor restart. */
function scanEnd(bytes: Buffer): { passed: number; found: boolean } {
  let at = bytes.indexOf(0xff);
  while (at !== -1 && at + 1 < bytes.length) {
    const next = bytes[at + 1] ?? 0;
    if (next !== 0 && next !== FILL && !isRestart(next)) return { passed: at, found: true };
    at = bytes.indexOf(0xff, next === FILL ? at + 1 : at + 2);
  }
  return { passed: at === -1 ? bytes.length : at, found: false };
}

/** JFIF, the colour profile and Adobe's colour mark say how pixels are read; other application data is metadata. */
function kindOf(marker: number, name: string): PartKind {
  if (marker === COMMENT) return 'other';
  if (marker < 0xe0 || marker > 0xef) return 'pixels';
  if (marker === 0xe0) return name.startsWith('JFIF\0') ? 'pixels' : 'other';
  if (marker === 0xe1) return name.startsWith('Exif\0') ? 'exif' : 'other';
  if (marker === 0xe2) return name === 'ICC_PROFILE\0' ? 'profile' : 'other';
  return marker === 0xee && name.startsWith('Adobe') ? 'pixels' : 'other';
}

function standsAlone(marker: number): boolean {
  return marker === START_OF_IMAGE || marker === END_OF_IMAGE || marker === 0x01 || isRestart(marker);
}

function isRestart(marker: number): boolean {
  return marker >= 0xd0 && marker <= 0xd7;
}

function damagedJpeg(): ImageError {
  return new ImageError('invalid_image_file', 'The JPEG file is damaged or incomplete.');
}
