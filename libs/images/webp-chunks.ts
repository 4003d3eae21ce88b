import { ImageError } from './image-error.js';
import type { Chunk } from './png-chunks.js';

const HEADER_BYTES = 12;
const KEPT = new Set(['VP8X', 'ICCP', 'ALPH', 'VP8 ', 'VP8L']);
const EXIF_AND_XMP_FLAGS = 0x08 | 0x04;
const ANIMATION_FLAG = 0x02;

/**
 * Lists a WebP's chunks. Throws ImageError when they don't add up. The size check is also what makes a text file
 * that begins like a WebP impossible: four printable characters, read as a size, exceed every file limit.
 */
export function webpChunks(bytes: Buffer): Chunk[] {
  const fileEnd = bytes.length < HEADER_BYTES ? Infinity : bytes.readUInt32LE(4) + 8;
  if (fileEnd > bytes.length) throw damaged();
  const chunks: Chunk[] = [];
  let offset = HEADER_BYTES;
  while (offset + 8 <= fileEnd) {
    const size = bytes.readUInt32LE(offset + 4);
    const end = offset + 8 + size + (size % 2);
    if (end > bytes.length) throw damaged();
    chunks.push({ type: bytes.toString('latin1', offset, offset + 4), start: offset, end });
    offset = end;
  }
  return chunks;
}

/** Whether the extended header declares an animation. */
export function isAnimatedWebp(bytes: Buffer): boolean {
  return webpChunks(bytes).some(
    (chunk) => chunk.type === 'ANIM' || (chunk.type === 'VP8X' && (flagsOf(bytes, chunk) & ANIMATION_FLAG) !== 0),
  );
}

/** Copies a WebP without its metadata chunks and without anything behind its end. */
export function stripWebp(bytes: Buffer): Buffer {
  const kept = webpChunks(bytes)
    .filter((chunk) => KEPT.has(chunk.type))
    .map((chunk) =>
      chunk.type === 'VP8X' ? withoutMetadataFlags(bytes, chunk) : bytes.subarray(chunk.start, chunk.end),
    );
  const stripped = Buffer.concat([bytes.subarray(0, HEADER_BYTES), ...kept]);
  stripped.writeUInt32LE(stripped.length - 8, 4);
  return stripped;
}

function withoutMetadataFlags(bytes: Buffer, chunk: Chunk): Buffer {
  const copy = Buffer.from(bytes.subarray(chunk.start, chunk.end));
  if (copy.length > 8) copy.writeUInt8(flagsOf(bytes, chunk) & ~EXIF_AND_XMP_FLAGS, 8);
  return copy;
}

function flagsOf(bytes: Buffer, chunk: Chunk): number {
  return chunk.end - chunk.start > 8 ? bytes.readUInt8(chunk.start + 8) : 0;
}

function damaged(): ImageError {
  return new ImageError('invalid_image_file', 'The WebP file is damaged or incomplete.');
}
