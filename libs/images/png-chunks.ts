import { crc32 } from 'node:zlib';
import type { FileParts, ImagePixels, Insertion, PartKind } from './file-parts.js';
import { read, skip, type FileReader, type FileReading } from './file-walk.js';
import { ImageError } from './image-error.js';

const SIGNATURE_BYTES = 8;
const CHECKSUM_BYTES = 4;
const HEADER_BYTES = 13;
const MAX_PALETTE_BYTES = 768;
/** Deflate makes at most so many bytes out of one. */
const MAX_DEFLATE_RATIO = 1_032;
/** The header's color types, with the bits that a channel may have. */
const COLOR_TYPES: ReadonlyMap<number, { hasAlpha: boolean; channels: number; depths: readonly number[] }> = new Map([
  [0, { hasAlpha: false, channels: 1, depths: [1, 2, 4, 8, 16] }],
  [2, { hasAlpha: false, channels: 3, depths: [8, 16] }],
  [3, { hasAlpha: false, channels: 1, depths: [1, 2, 4, 8] }],
  [4, { hasAlpha: true, channels: 2, depths: [8, 16] }],
  [6, { hasAlpha: true, channels: 4, depths: [8, 16] }],
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

/**
 * Reads a PNG's chunks up to its end marker, with their checksums: a wrong one in a chunk without which the image can't
 * be decoded throws ImageError `invalid_image_file`; in any other it leaves the pixels to a decoder, because it may be
 * the chunk's type that is damaged.
 */
export function* readPng(parts: FileParts): FileReader {
  parts.add(yield* skip(SIGNATURE_BYTES), 'pixels');
  const pixels = new PixelChunks();
  for (let type = ''; type !== 'IEND';) {
    const { bytes: head } = yield* read(8);
    type = head.toString('latin1', 4, 8);
    if (type === 'acTL') parts.isAnimated = true;
    // tRNS makes colors transparent, and eXIf may contain an orientation.
    if (type === 'tRNS' || type === 'eXIf') parts.pixels = undefined;
    const { start, end, isIntact } = yield* readContent(head);
    if (isCritical(type) && !isIntact) throw new ImageError('invalid_image_file', 'The PNG file is damaged.');
    pixels.add(type, head.readUInt32BE(0), start, isIntact);
    if (type === 'IHDR' && parts.headEnd === 0) parts.pixels = pixels.image;
    parts.add(end, kindOf(type, start));
    if (parts.headEnd === 0) parts.headEnd = parts.end;
  }
  parts.isVerified = pixels.areWhole;
}

/** Decoders ignore chunks that they don't know, or that are damaged, unless the first letter of their type is upper case. */
function isCritical(type: string): boolean {
  return (type.charCodeAt(0) & 0x20) === 0;
}

function kindOf(type: string, start: Buffer): PartKind {
  if (type === 'iTXt') return start.toString('latin1') === XMP_START ? 'xmp' : 'other';
  return KINDS.get(type) ?? 'other';
}

interface Content {
  /** As many of its first bytes as tell what it is. */
  readonly start: Buffer;
  /** The offset after its checksum. */
  readonly end: number;
  /** Whether it has its checksum. */
  readonly isIntact: boolean;
}

/** Reads the content and the checksum of the chunk with this length and type. */
function* readContent(head: Buffer): FileReading<Content> {
  const length = head.readUInt32BE(0);
  let sum = crc32(head.subarray(4));
  const { bytes: start } = yield* read(Math.min(length, XMP_START.length));
  sum = crc32(start, sum);
  yield* skip(length - start.length, (bytes) => {
    sum = crc32(bytes, sum);
  });
  const { bytes: checksum, offset: end } = yield* read(CHECKSUM_BYTES);
  return { start, end, isIntact: checksum.readUInt32BE(0) === sum };
}

/** What the chunks of a PNG say of its pixels, and whether they are the chunks of a whole image. */
class PixelChunks {
  /** Size and transparency by the header; undefined if it is not one that a decoder accepts. */
  image: ImagePixels | undefined;
  private rowBytes = 0;
  private needsPalette = false;
  private dataBytes = 0;
  private previous = '';
  private hasPalette = false;
  /** Whether there is a chunk that a decoder may refuse: a damaged one, a second header, data in two places, an unknown type. */
  private isOdd = false;

  /** Adds the next chunk, with the first bytes of its content, and whether it has its checksum. */
  add(type: string, length: number, start: Buffer, isIntact: boolean): void {
    this.isOdd ||= !isIntact;
    if (type === 'IHDR') this.readHead(length, start);
    else if (type === 'PLTE') {
      this.isOdd ||= this.hasPalette || this.dataBytes > 0;
      this.isOdd ||= length === 0 || length % 3 !== 0 || length > MAX_PALETTE_BYTES;
      this.hasPalette = true;
    } else if (type === 'IDAT') {
      this.isOdd ||= this.dataBytes > 0 && this.previous !== 'IDAT';
      this.dataBytes += length;
    } else if (type === 'IEND') this.isOdd ||= length > 0;
    else this.isOdd ||= isCritical(type);
    this.previous = type;
  }

  /** Whether these are all chunks that the image needs, in order, with data that can hold every row. */
  get areWhole(): boolean {
    const { image, isOdd, rowBytes, dataBytes } = this;
    if (image === undefined || isOdd || (this.needsPalette && !this.hasPalette)) return false;
    return image.height * rowBytes <= dataBytes * MAX_DEFLATE_RATIO;
  }

  private readHead(length: number, head: Buffer): void {
    if (this.previous !== '' || length !== HEADER_BYTES) {
      this.isOdd = true;
      return;
    }
    const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)];
    const [depth = 0, colorType = 0, compression, filter, interlacing = 0] = head.subarray(8);
    const color = COLOR_TYPES.get(colorType);
    if (color === undefined || width === 0 || height === 0) return;
    const isKnown = color.depths.includes(depth) && compression === 0 && filter === 0 && interlacing <= 1;
    this.image = { width, height, hasAlpha: color.hasAlpha };
    this.rowBytes = Math.ceil((width * depth * color.channels) / 8);
    this.needsPalette = colorType === 3;
    this.isOdd ||= !isKnown;
  }
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
