import type { FileParts, PartKind } from './file-parts.js';
import { read, skip, type FileReader } from './file-walk.js';

const SIGNATURE_BYTES = 8;
const CHECKSUM_BYTES = 4;
/** What decides the pixels and how their colours are meant; all else is metadata. */
const KINDS: ReadonlyMap<string, PartKind> = new Map([
  ...['IHDR', 'PLTE', 'IDAT', 'IEND', 'tRNS', 'sRGB', 'gAMA', 'cHRM', 'cICP', 'sBIT'].map(
    (type) => [type, 'pixels'] as const,
  ),
  ['iCCP', 'profile'],
  ['eXIf', 'exif'],
]);

/** A PNG's chunks up to its end mark. */
export function* readPng(parts: FileParts): FileReader {
  parts.add(yield* skip(SIGNATURE_BYTES), 'pixels');
  for (let type = ''; type !== 'IEND';) {
    const { bytes: head } = yield* read(8);
    type = head.toString('latin1', 4, 8);
    if (type === 'acTL') parts.isAnimated = true;
    parts.add(yield* skip(head.readUInt32BE(0) + CHECKSUM_BYTES), KINDS.get(type) ?? 'other');
  }
}
