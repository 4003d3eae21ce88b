import type { FileParts, PartKind } from './file-parts.js';
import { read, skip, type FileReader } from './file-walk.js';

const HEADER_BYTES = 12;
const CHUNK_HEADER_BYTES = 8;
const KINDS: ReadonlyMap<string, PartKind> = new Map([
  ['ALPH', 'pixels'],
  ['VP8 ', 'pixels'],
  ['VP8L', 'pixels'],
  ['ICCP', 'profile'],
  ['EXIF', 'exif'],
]);
const FLAGS_OFFSET = HEADER_BYTES + CHUNK_HEADER_BYTES;
const EXIF_FLAG = 0x08;
const XMP_FLAG = 0x04;
const ANIMATION_FLAG = 0x02;

/**
 * A WebP's chunks, as far as its header says that they go. A text file that begins like a WebP is impossible: four
 * printable characters, read as a size, exceed every file limit.
 */
export function* readWebp(parts: FileParts): FileReader {
  const { bytes: header, offset } = yield* read(HEADER_BYTES);
  const fileEnd = header.readUInt32LE(4) + 8;
  parts.add(offset, 'pixels');
  while (parts.end + CHUNK_HEADER_BYTES <= fileEnd) {
    const { bytes: head } = yield* read(CHUNK_HEADER_BYTES);
    const [type, size] = [head.toString('latin1', 0, 4), head.readUInt32LE(4)];
    const padded = size + (size % 2);
    if (type === 'ANIM') parts.isAnimated = true;
    // The extended header is the first chunk, or none that a decoder would heed.
    if (type === 'VP8X' && parts.end === HEADER_BYTES && size > 0) {
      const flags = (yield* read(1)).bytes.readUInt8(0);
      if ((flags & ANIMATION_FLAG) !== 0) parts.isAnimated = true;
      parts.add(yield* skip(padded - 1), 'pixels');
    } else parts.add(yield* skip(padded), KINDS.get(type) ?? 'other');
  }
  if (parts.end < fileEnd) parts.add(yield* skip(fileEnd - parts.end), 'other');
}

/** Makes a WebP's header say what is left in it: its size, and that it has no XMP, nor EXIF unless that was kept. */
export function mendWebpHeader(bytes: Buffer, hasExif: boolean): void {
  bytes.writeUInt32LE(bytes.length - 8, 4);
  if (bytes.length <= FLAGS_OFFSET || bytes.toString('latin1', HEADER_BYTES, HEADER_BYTES + 4) !== 'VP8X') return;
  const flags = bytes.readUInt8(FLAGS_OFFSET) & ~XMP_FLAG;
  bytes.writeUInt8(hasExif ? flags : flags & ~EXIF_FLAG, FLAGS_OFFSET);
}
