import { tooMuch, type FileParts, type Insertion, type PartKind } from './file-parts.js';
import { read, search, skip, type FileReader } from './file-walk.js';
import { ImageError } from './image-error.js';

const START_OF_IMAGE = 0xd8;
const END_OF_IMAGE = 0xd9;
const START_OF_SCAN = 0xda;
/**
 * Maximum scans of a file: each may cost a decoder a pass over all pixels, however few bytes it has. Progressive files
 * have about ten.
 */
export const MAX_SCANS = 100;
const COMMENT = 0xfe;
const FILL = 0xff;
const JFIF = 0xe0;
/** Bytes of a segment's content that identify it. */
const NAME_BYTES = 40;
const XMP_NAME = 'http://ns.adobe.com/xap/1.0/\0';
/** XMP that did not fit in one segment. */
const MORE_XMP_NAME = 'http://ns.adobe.com/xmp/extension/\0';
/** Marks a JUMBF box (ISO 19566-5) as content credentials, in its description. */
const C2PA_BOX = 'jumdc2pa\x00\x11\x00\x10\x80\x00\x00\xaa\x00\x38\x9b\x71';

/** Reads a JPEG's segments up to its end marker; a segment with a scan includes the scan's data. Throws ImageError. */
export function* readJpeg(parts: FileParts): FileReader {
  const credentials: Credentials = new Set();
  parts.add(yield* skip(2), 'pixels');
  parts.headEnd = parts.end;
  let scans = 0;
  for (;;) {
    const { bytes: first, offset } = yield* read(1);
    if (first[0] !== FILL) throw damagedJpeg();
    const markerAt = yield* search(fillEnd);
    if (markerAt > offset) parts.add(markerAt - 1, 'harmless');
    const { bytes, offset: markerEnd } = yield* read(1);
    const marker = bytes.readUInt8(0);
    if (marker === START_OF_SCAN) scans += 1;
    if (scans > MAX_SCANS) throw tooMuch('scans');
    if (standsAlone(marker)) parts.add(markerEnd, 'pixels');
    else yield* readSegment(marker, parts, credentials);
    if (marker === END_OF_IMAGE) return;
  }
}

function* readSegment(marker: number, parts: FileParts, credentials: Credentials): FileReader {
  const length = (yield* read(2)).bytes.readUInt16BE(0) - 2;
  if (length < 0) throw damagedJpeg();
  const { bytes: name } = yield* read(Math.min(length, NAME_BYTES));
  const kind = kindOf(marker, name.toString('latin1'), credentials);
  const end = yield* skip(length - name.length);
  const isJfif = marker === JFIF && kind === 'pixels';
  // Readers accept JFIF only as the first segment.
  const isHead = isJfif && parts.kept.length === 1 && parts.kept[0]?.end === parts.headEnd;
  parts.add(marker === START_OF_SCAN ? yield* search(scanEnd) : end, kind);
  if (isHead) parts.headEnd = end;
}

/** Any number of fill bytes may precede a marker. */
function fillEnd(bytes: Buffer): { passed: number; found: boolean } {
  let passed = 0;
  while (bytes[passed] === FILL) passed += 1;
  return { passed, found: passed < bytes.length };
}

/** Finds the end of a scan's compressed pixels: the first marker that is neither stuffing nor a restart. */
function scanEnd(bytes: Buffer): { passed: number; found: boolean } {
  let at = bytes.indexOf(0xff);
  while (at !== -1 && at + 1 < bytes.length) {
    const next = bytes[at + 1] ?? 0;
    if (next !== 0 && next !== FILL && !isRestart(next)) return { passed: at, found: true };
    at = bytes.indexOf(0xff, next === FILL ? at + 1 : at + 2);
  }
  return { passed: at === -1 ? bytes.length : at, found: false };
}

/** JFIF, the color profile, and Adobe's color marker define how pixels are read; other application data is metadata. */
function kindOf(marker: number, name: string, credentials: Credentials): PartKind {
  if (marker === COMMENT) return 'other';
  if (marker < 0xe0 || marker > 0xef) return 'pixels';
  if (marker === JFIF) return name.startsWith('JFIF\0') ? 'pixels' : 'other';
  if (marker === 0xe1) return kindOfApp1(name);
  if (marker === 0xe2) return name.startsWith('ICC_PROFILE\0') ? 'profile' : 'other';
  if (marker === 0xeb) return isCredentials(name, credentials) ? 'credentials' : 'other';
  return marker === 0xee && name.startsWith('Adobe') ? 'pixels' : 'other';
}

function kindOfApp1(name: string): PartKind {
  if (name.startsWith('Exif\0')) return 'exif';
  return name.startsWith(XMP_NAME) || name.startsWith(MORE_XMP_NAME) ? 'xmp' : 'other';
}

/** Numbers of boxes with content credentials: a box may be split into many segments, each with the box's number. */
type Credentials = Set<string>;

/**
 * A segment with a piece of a box contains `JP`, the box's number (two bytes), the piece's number (four), and the box's
 * length and type. Only the first piece tells what the box contains.
 */
function isCredentials(name: string, known: Credentials): boolean {
  if (!name.startsWith('JP') || name.slice(12, 16) !== 'jumb') return false;
  const box = name.slice(2, 4);
  if (name.startsWith(C2PA_BOX, 20)) known.add(box);
  return known.has(box);
}

/** A segment with this XMP, which may have up to 65,502 bytes. */
export function jpegXmp(xmp: string): Insertion {
  const content = Buffer.from(XMP_NAME + xmp);
  const start = Buffer.from([FILL, 0xe1, 0, 0]);
  start.writeUInt16BE(2 + content.length, 2);
  return { head: Buffer.concat([start, content]), end: Buffer.alloc(0) };
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
