import { crc32 } from 'node:zlib';
import type { FileParts, ImagePixels, Insertion, PartKind } from './file-parts.js';
import { read, skip, type FileReader } from './file-walk.js';

const SIGNATURE_BYTES = 8;
const CHECKSUM_BYTES = 4;
const HEADER_BYTES = 13;
/** Whether the image has an alpha channel, by the header's color type. */
const ALPHA: ReadonlyMap<number | undefined, boolean> = new Map([
  ...[0, 2, 3].map((type) => [type, false] as const),
  ...[4, 6].map((type) => [type, true] as const),
]);
/** Start of the text chunk that holds XMP: its keyword, a terminator, and flags for no compression. */
const XMP_START = 'XML:com.adobe.xmp\0\0\0';
/** Chunks that define the pixels and their colors; all others are metadata. */
const KINDS: ReadonlyMap<string, PartKind> = new Map([
  ...['IHDR', 'PLTE', 'IDAT', 'IEND', 'tRNS', 'sRGB', 'gAMA', 'cHRM', 'cICP', 'sBIT'].map(
    (type) => [type, 'pixels'] as const,
  ),
  ['iCCP', 'profile'],
  ['eXIf', 'exif'],
  ['caBX', 'credentials'],
  ...['pHYs', 'bKGD', 'hIST', 'sPLT', 'mDCV', 'cLLI'].map((type) => [type, 'harmless'] as const),
]);

/** Reads a PNG's chunks up to its end marker. */
export function* readPng(parts: FileParts): FileReader {
  parts.add(yield* skip(SIGNATURE_BYTES), 'pixels');
  for (let type = ''; type !== 'IEND';) {
    const { bytes: head } = yield* read(8);
    type = head.toString('latin1', 4, 8);
    if (type === 'acTL') parts.isAnimated = true;
    // tRNS makes colors transparent, and eXIf may contain an orientation.
    if (type === 'tRNS' || type === 'eXIf') parts.pixels = undefined;
    const bytes = head.readUInt32BE(0) + CHECKSUM_BYTES;
    if (type === 'iTXt') yield* readText(bytes, parts);
    else if (type === 'IHDR' && parts.headEnd === 0) yield* readHead(bytes, parts);
    else parts.add(yield* skip(bytes), KINDS.get(type) ?? 'other');
    if (parts.headEnd === 0) parts.headEnd = parts.end;
  }
}

/** Reads the header chunk, which contains the size. */
function* readHead(bytes: number, parts: FileParts): FileReader {
  const { bytes: head } = yield* read(Math.min(bytes, HEADER_BYTES));
  if (bytes === HEADER_BYTES + CHECKSUM_BYTES) parts.pixels = pixelsOf(head);
  parts.add(yield* skip(bytes - head.length), 'pixels');
}

function pixelsOf(head: Buffer): ImagePixels | undefined {
  const hasAlpha = ALPHA.get(head[9]);
  const width = head.readUInt32BE(0);
  const height = head.readUInt32BE(4);
  return hasAlpha === undefined || width === 0 || height === 0 ? undefined : { width, height, hasAlpha };
}

function* readText(bytes: number, parts: FileParts): FileReader {
  const { bytes: start } = yield* read(Math.min(bytes, XMP_START.length));
  const kind = start.toString('latin1') === XMP_START ? 'xmp' : 'other';
  parts.add(yield* skip(bytes - start.length), kind);
}

/** A chunk with this XMP, inserted before the pixels for readers that stop there. */
export function pngXmp(xmp: string): Insertion {
  // After the keyword come an empty language tag and an empty translated keyword.
  const body = Buffer.from(`iTXt${XMP_START}\0\0${xmp}`);
  const chunk = Buffer.alloc(4 + body.length + CHECKSUM_BYTES);
  chunk.writeUInt32BE(body.length - 4, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), 4 + body.length);
  return { head: chunk, end: Buffer.alloc(0) };
}
