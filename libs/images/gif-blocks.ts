import type { FileParts, Insertion, PartKind } from './file-parts.js';
import { read, search, skip, type FileReader, type FileReading } from './file-walk.js';
import { ImageError } from './image-error.js';

const HEADER_BYTES = 13;
const VERSION_OFFSET = 3;
/** Flag of the header and of images: a color table of 2^(n+1) entries follows, where n is the last three bits. */
const TABLE_FLAG = 0x80;
const TABLE_SIZE = 0x07;
const EXTENSION = 0x21;
const IMAGE = 0x2c;
const TRAILER = 0x3b;
const PLAIN_TEXT = 0x01;
const GRAPHIC_CONTROL = 0xf9;
const APPLICATION = 0xff;
const APPLICATION_BYTES = 11;
/** Application extensions by name and code: repetition, colors, XMP, and C2PA. */
const APPLICATIONS: ReadonlyMap<string, PartKind> = new Map([
  ['NETSCAPE2.0', 'pixels'],
  ['ANIMEXTS1.0', 'pixels'],
  ['ICCRGBG1012', 'profile'],
  ['XMP DataXMP', 'xmp'],
  ['C2PA_GIF\x01\0\0', 'credentials'],
]);
/**
 * Follows XMP, which is not split into blocks: whichever of its bytes a reader takes as a length, it gets to the end.
 */
const XMP_TRAILER = Buffer.from([0x01, ...Array.from({ length: 256 }, (_, index) => 0xff - index), 0x00]);

/** A GIF's blocks up to its trailer. */
export function* readGif(parts: FileParts): FileReader {
  const { bytes: header } = yield* read(HEADER_BYTES);
  parts.add(yield* skip(tableBytes(header.readUInt8(10))), 'pixels');
  parts.headEnd = parts.end;
  for (let images = 0; ;) {
    const kind = (yield* read(1)).bytes.readUInt8(0);
    if (kind === TRAILER) {
      parts.add(yield* skip(0), 'pixels');
      return;
    }
    if (kind === EXTENSION) {
      // Some readers look for an animation's repeat count only directly after the header.
      const isFirst = parts.headEnd === parts.end;
      const part = yield* readExtension(parts);
      if (isFirst && part === 'NETSCAPE2.0') parts.headEnd = parts.end;
    } else if (kind === IMAGE) {
      const { bytes: descriptor } = yield* read(9);
      // Skip the color table and the byte before the data.
      yield* skip(tableBytes(descriptor.readUInt8(8)) + 1);
      parts.add(yield* search(blocksEnd), 'pixels');
      images += 1;
      if (images > 1) parts.isAnimated = true;
    } else {
      throw new ImageError('invalid_image_file', 'The GIF file is damaged.');
    }
  }
}

/** Returns the name of the extension's application. */
function* readExtension(parts: FileParts): FileReading<string> {
  const { bytes: head } = yield* read(2);
  const label = head.readUInt8(0);
  const size = head.readUInt8(1);
  let name = '';
  if (label === APPLICATION && size === APPLICATION_BYTES) {
    name = (yield* read(APPLICATION_BYTES)).bytes.toString('latin1');
  } else yield* skip(size);
  const end = size === 0 ? yield* skip(0) : yield* search(blocksEnd);
  const isSeen = label === GRAPHIC_CONTROL || label === PLAIN_TEXT;
  parts.add(end, isSeen ? 'pixels' : (APPLICATIONS.get(name) ?? 'other'));
  return name;
}

function tableBytes(flags: number): number {
  return (flags & TABLE_FLAG) === 0 ? 0 : 3 * 2 ** ((flags & TABLE_SIZE) + 1);
}

/** Finds the end of blocks, each with its length in front, up to one of length 0. */
function blocksEnd(bytes: Buffer): { passed: number; found: boolean } {
  let at = 0;
  while (at < bytes.length) {
    const length = bytes.readUInt8(at);
    if (length === 0) return { passed: at + 1, found: true };
    if (at + 1 + length > bytes.length) break;
    at += 1 + length;
  }
  return { passed: at, found: false };
}

/** An extension with this XMP, inserted before the image for readers that stop there. */
export function gifXmp(xmp: string): Insertion {
  const name = Buffer.from([EXTENSION, APPLICATION, APPLICATION_BYTES, ...Buffer.from('XMP DataXMP')]);
  return { head: Buffer.concat([name, Buffer.from(xmp), XMP_TRAILER]), end: Buffer.alloc(0) };
}

/** Makes the start of a GIF declare the version that allows extensions. */
export function fixGifHeader(start: Buffer): void {
  start.write('89a', VERSION_OFFSET, 'latin1');
}
