import { ImageError } from './image-error.js';

export interface Chunk {
  readonly type: string;
  /** Offsets of the whole chunk, header and checksum included. */
  readonly start: number;
  readonly end: number;
}

const SIGNATURE_BYTES = 8;
/** What decides the pixels and how their colours are meant; all else is metadata. */
const KEPT = new Set(['IHDR', 'PLTE', 'IDAT', 'IEND', 'tRNS', 'sRGB', 'gAMA', 'cHRM', 'iCCP', 'cICP', 'sBIT']);

/** Lists a PNG's chunks up to its end mark. Throws ImageError when they don't add up. */
export function pngChunks(bytes: Buffer): Chunk[] {
  const chunks: Chunk[] = [];
  let offset = SIGNATURE_BYTES;
  while (offset + 12 <= bytes.length) {
    const end = offset + 12 + bytes.readUInt32BE(offset);
    if (end > bytes.length) break;
    const chunk = { type: bytes.toString('latin1', offset + 4, offset + 8), start: offset, end };
    chunks.push(chunk);
    if (chunk.type === 'IEND') return chunks;
    offset = end;
  }
  throw new ImageError('invalid_image_file', 'The PNG file is damaged or incomplete.');
}

/** Copies a PNG without its metadata chunks and without anything behind its end. */
export function stripPng(bytes: Buffer): Buffer {
  const kept = pngChunks(bytes).filter((chunk) => KEPT.has(chunk.type));
  return Buffer.concat([
    bytes.subarray(0, SIGNATURE_BYTES),
    ...kept.map((chunk) => bytes.subarray(chunk.start, chunk.end)),
  ]);
}
