import type { FileParts, ImagePixels, Insertion, PartKind } from './file-parts.js';
import { read, skip, type FileReader } from './file-walk.js';

const HEADER_BYTES = 12;
const CHUNK_HEADER_BYTES = 8;
const KINDS: ReadonlyMap<string, PartKind> = new Map([
  ['ALPH', 'pixels'],
  ['VP8 ', 'pixels'],
  ['VP8L', 'pixels'],
  ['ICCP', 'profile'],
  ['EXIF', 'exif'],
  ['XMP ', 'xmp'],
  ['C2PA', 'credentials'],
]);
const EXTENDED = 'VP8X';
const PIXELS = ['VP8 ', 'VP8L'];
const FLAGS_OFFSET = HEADER_BYTES + CHUNK_HEADER_BYTES;
const ALPHA_FLAG = 0x10;
const EXIF_FLAG = 0x08;
const XMP_FLAG = 0x04;
const ANIMATION_FLAG = 0x02;

/**
 * Reads a WebP's chunks, up to the size in its header. A text file can't be mistaken for a WebP: four printable
 * characters, read as a size, exceed every file limit.
 */
export function* readWebp(parts: FileParts): FileReader {
  const { bytes: header, offset } = yield* read(HEADER_BYTES);
  const fileEnd = header.readUInt32LE(4) + 8;
  let isExtended = false;
  let isOver = false;
  parts.add(offset, 'pixels');
  parts.headEnd = parts.end;
  while (parts.end + CHUNK_HEADER_BYTES <= fileEnd) {
    const { bytes: head } = yield* read(CHUNK_HEADER_BYTES);
    const type = head.toString('latin1', 0, 4);
    const size = head.readUInt32LE(4);
    const padded = size + (size % 2);
    if (type === 'ANIM') parts.isAnimated = true;
    // Decoders accept the extended header only as the first chunk.
    if (type === EXTENDED && parts.end === HEADER_BYTES && size > 0) {
      isExtended = true;
      const flags = (yield* read(1)).bytes.readUInt8(0);
      if ((flags & ANIMATION_FLAG) !== 0) parts.isAnimated = true;
      parts.add(yield* skip(padded - 1), 'pixels');
      parts.headEnd = parts.end;
    } else {
      parts.add(yield* skip(padded), (isOver ? undefined : KINDS.get(type)) ?? 'other');
      // Without an extended header, decoders stop here. A header that we add must not activate later chunks.
      if (!isExtended && PIXELS.includes(type)) isOver = true;
    }
  }
  if (parts.end < fileEnd) parts.add(yield* skip(fileEnd - parts.end), 'other');
}

/** The metadata in a file. With `exif`, the file's own EXIF flag is kept. */
export interface WebpMetadata {
  readonly exif: boolean;
  readonly xmp: boolean;
}

/** Corrects the start of a WebP of `bytes` bytes: its size, and flags for only this metadata. */
export function fixWebpHeader(start: Buffer, bytes: number, { exif, xmp }: WebpMetadata): void {
  start.writeUInt32LE(bytes - 8, 4);
  if (start.length <= FLAGS_OFFSET || start.toString('latin1', HEADER_BYTES, HEADER_BYTES + 4) !== EXTENDED) return;
  const flags = start.readUInt8(FLAGS_OFFSET) & ~XMP_FLAG & (exif ? 0xff : ~EXIF_FLAG);
  start.writeUInt8(flags | (xmp ? XMP_FLAG : 0), FLAGS_OFFSET);
}

/** A chunk with this XMP. A file without an extended header also gets one, to announce the chunk. */
export function webpXmp(xmp: string, { width, height, hasAlpha }: ImagePixels, { headEnd }: FileParts): Insertion {
  const end = chunkOf('XMP ', Buffer.from(xmp));
  if (headEnd > HEADER_BYTES) return { head: Buffer.alloc(0), end };
  const content = Buffer.alloc(10);
  content.writeUInt8(hasAlpha ? ALPHA_FLAG : 0, 0);
  content.writeUIntLE(width - 1, 4, 3);
  content.writeUIntLE(height - 1, 7, 3);
  return { head: chunkOf(EXTENDED, content), end };
}

function chunkOf(type: string, content: Buffer): Buffer {
  const chunk = Buffer.alloc(CHUNK_HEADER_BYTES + content.length + (content.length % 2));
  chunk.write(type, 'latin1');
  chunk.writeUInt32LE(content.length, 4);
  content.copy(chunk, CHUNK_HEADER_BYTES);
  return chunk;
}
