import { crc32 } from 'node:zlib';
import type { FileParts, Insertion, PartKind } from './file-parts.js';
import { read, skip, type FileReader } from './file-walk.js';

const SIGNATURE_BYTES = 8;
const CHECKSUM_BYTES = 4;
/** How the text chunk that holds XMP begins: its keyword, the end of that, and that it is not compressed. */
const XMP_START = 'XML:com.adobe.xmp\0\0\0';
/** What decides the pixels and how their colors are meant; all else is metadata. */
const KINDS: ReadonlyMap<string, PartKind> = new Map([
  ...['IHDR', 'PLTE', 'IDAT', 'IEND', 'tRNS', 'sRGB', 'gAMA', 'cHRM', 'cICP', 'sBIT'].map(
    (type) => [type, 'pixels'] as const,
  ),
  ['iCCP', 'profile'],
  ['eXIf', 'exif'],
  ['caBX', 'credentials'],
  ...['pHYs', 'bKGD', 'hIST', 'sPLT', 'mDCV', 'cLLI'].map((type) => [type, 'harmless'] as const),
]);

/** A PNG's chunks up to its end mark. */
export function* readPng(parts: FileParts): FileReader {
  parts.add(yield* skip(SIGNATURE_BYTES), 'pixels');
  for (let type = ''; type !== 'IEND';) {
    const { bytes: head } = yield* read(8);
    type = head.toString('latin1', 4, 8);
    if (type === 'acTL') parts.isAnimated = true;
    const bytes = head.readUInt32BE(0) + CHECKSUM_BYTES;
    if (type === 'iTXt') yield* readText(bytes, parts);
    else parts.add(yield* skip(bytes), KINDS.get(type) ?? 'other');
    if (parts.headEnd === 0) parts.headEnd = parts.end;
  }
}

function* readText(bytes: number, parts: FileParts): FileReader {
  const { bytes: start } = yield* read(Math.min(bytes, XMP_START.length));
  const kind = start.toString('latin1') === XMP_START ? 'xmp' : 'other';
  parts.add(yield* skip(bytes - start.length), kind);
}

/** A chunk with this XMP, before the pixels, for readers that stop there. */
export function pngXmp(xmp: string): Insertion {
  // Behind the keyword stand an empty language and no translation of the keyword.
  const body = Buffer.from(`iTXt${XMP_START}\0\0${xmp}`);
  const chunk = Buffer.alloc(4 + body.length + CHECKSUM_BYTES);
  chunk.writeUInt32BE(body.length - 4, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), 4 + body.length);
  return { head: chunk, end: Buffer.alloc(0) };
}
