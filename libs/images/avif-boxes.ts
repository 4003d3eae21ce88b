import { ByteCollector, joined } from '#bytes/bytes.js';
import { readAvifMeta } from './avif-meta.js';
import { MAX_FILE_PARTS, tooMuch, type AvifImage, type AvifItem, type FileParts } from './file-parts.js';
import { read, skip, type FileReader, type FileReading } from './file-walk.js';
import { ImageError } from './image-error.js';

/** Longest `meta` box: usually 400 bytes, and the color profile. */
const MAX_META_BYTES = 1_000_000;
/** Longest `ftyp` box: each of its brands has four bytes. */
const MAX_BRANDS_BYTES = 1_024;
/** Boxes of a file before its `meta` box. */
const MAX_BOXES = 100;
/** Bytes requested at a time. */
const STEP = 32;
/** Frames of a still image: one for each of its up to four layers. A decoder decodes all that are there. */
const MAX_FRAMES = 4;
const FRAME_HEADER = 3;
const FRAME = 6;

/** An AVIF's boxes, up to the end of its image's data. */
export function* readAvif(parts: FileParts): FileReader {
  let offset = 0;
  for (let boxes = 0; parts.avif === undefined; boxes++) {
    if (boxes > MAX_BOXES) throw tooMuch('parts');
    const box = yield* readBox();
    if (boxes === 0 && box.type !== 'ftyp') throw damaged();
    if (box.type === 'moov') parts.isAnimated = true;
    if (box.type === 'ftyp') {
      if (box.size > MAX_BRANDS_BYTES) throw damaged();
      const brands = yield* gather(box.size);
      if (isSequence(brands)) parts.isAnimated = true;
    } else if (box.type === 'meta') {
      if (box.size > MAX_META_BYTES) throw tooMuch('metadata');
      parts.avif = readAvifMeta(yield* gather(box.size));
    } else {
      // The last box of a file may have no size; this one has another after it.
      if (box.size < 0) throw damaged();
      yield* skip(box.size);
    }
    offset = yield* skip(0);
  }
  const { color, alpha } = parts.avif;
  const end = Math.max(color.end, alpha?.end ?? 0);
  parts.add(yield* skip(Math.max(0, end - offset)), 'pixels');
}

/** The type of a box, and the size of its content. */
function* readBox(): FileReading<{ readonly type: string; readonly size: number }> {
  const { bytes: head } = yield* read(8);
  const size = head.readUInt32BE(0);
  const type = head.toString('latin1', 4, 8);
  if (size !== 1) return { type, size: size - 8 };
  const { bytes: long } = yield* read(8);
  return { type, size: long.readUInt32BE(0) * 2 ** 32 + long.readUInt32BE(4) - 16 };
}

/** The next bytes, gathered in a few at a time as they arrive. */
function* gather(size: number): FileReading<Buffer> {
  if (size < 0) throw damaged();
  const gathered = new ByteCollector();
  for (let left = size; left > 0; left -= STEP) gathered.add((yield* read(Math.min(left, STEP))).bytes);
  return Buffer.concat(gathered.pieces());
}

/** Whether a file's brands, with the minor version as the second, announce a sequence of images. */
function isSequence(brands: Buffer): boolean {
  return Array.from({ length: Math.floor(brands.length / 4) }, (_, n) => n)
    .filter((n) => n !== 1)
    .some((n) => ['avis', 'msf1'].includes(brands.toString('latin1', 4 * n, 4 * n + 4)));
}

/**
 * Writes an AVIF's image into a file of its own: only what was read here and understood reaches the decoder, without
 * metadata, thumbnails, and other images. Throws ImageError `invalid_image_file` when its data has more frames than a
 * still image needs.
 */
export async function plainAvif(bytes: Buffer, image: AvifImage): Promise<Buffer> {
  const { color, alpha } = image;
  const items = alpha === undefined ? [color] : [color, alpha];
  const data = items.map(({ start, end }) => bytes.subarray(start, end));
  for (const one of data) assertStill(one);
  const head = box('ftyp', 'avif', u32(0), 'avifmif1miaf');
  const dataStart = head.length + metaOf(image, items, 0).length + 8;
  const size = 8 + data.reduce((sum, { length }) => sum + length, 0);
  return joined([head, metaOf(image, items, dataStart), u32(size), Buffer.from('mdat'), ...data]);
}

/** The `meta` box for items whose data starts at an offset, one behind the other. */
function metaOf({ isPremultiplied }: AvifImage, items: readonly AvifItem[], dataStart: number): Buffer {
  const properties = items.flatMap((item) => item.properties);
  let offset = dataStart;
  let index = 0;
  const locations = items.map(({ start, end }, n) => {
    const location = Buffer.concat([u16(n + 1), u16(0), u16(1), u32(offset), u32(end - start)]);
    offset += end - start;
    return location;
  });
  const associations = items.map((item, n) => {
    const ofItem = item.properties.map(({ isEssential }) => u16(++index | (isEssential ? 0x8000 : 0)));
    return Buffer.concat([u16(n + 1), Buffer.from([ofItem.length]), ...ofItem]);
  });
  const entries = items.map((_, n) => box('infe', u32(0x02000000), u16(n + 1), u16(0), 'av01\0'));
  const references = [
    box('auxl', u16(2), u16(1), u16(1)),
    ...(isPremultiplied ? [box('prem', u16(1), u16(1), u16(2))] : []),
  ];
  return box(
    'meta',
    u32(0),
    box('hdlr', u32(0), u32(0), 'pict', Buffer.alloc(13)),
    box('pitm', u32(0), u16(1)),
    box('iloc', u32(0), Buffer.from([0x44, 0x00]), u16(items.length), ...locations),
    box('iinf', u32(0), u16(items.length), ...entries),
    ...(items.length === 1 ? [] : [box('iref', u32(0), ...references)]),
    box(
      'iprp',
      box('ipco', ...properties.map((property) => property.box)),
      box('ipma', u32(1), u32(items.length), ...associations),
    ),
  );
}

/** Walks through the units of coded data: each has its length in front, seven bits per byte. */
function assertStill(data: Buffer): void {
  let frames = 0;
  for (let at = 0, units = 0; at < data.length; units++) {
    if (units > MAX_FILE_PARTS) throw tooMuch('parts');
    const header = data.readUInt8(at);
    const type = (header >> 3) & 15;
    at += (header & 4) === 0 ? 1 : 2;
    let size = (header & 2) === 0 ? data.length - at : 0;
    for (let shift = 0, more = (header & 2) !== 0; more; shift += 7) {
      const byte = data[at++];
      if (byte === undefined || shift > 28) throw damaged();
      size += (byte & 127) * 2 ** shift;
      more = byte >= 128;
    }
    at += size;
    if ((header & 128) !== 0 || at > data.length) throw damaged();
    if (type === FRAME || type === FRAME_HEADER) frames += 1;
    if (frames > MAX_FRAMES) throw tooMuch('frames');
  }
}

function box(type: string, ...content: (Buffer | string)[]): Buffer {
  const body = Buffer.concat(content.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)));
  return Buffer.concat([u32(body.length + 8), Buffer.from(type, 'latin1'), body]);
}

function u16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 255]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function damaged(): ImageError {
  return new ImageError('invalid_image_file', 'The AVIF file is damaged.');
}
