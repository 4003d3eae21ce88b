import { MAX_FILE_PARTS, tooMuch, type AvifImage, type AvifItem } from './file-parts.js';
import { ImageError } from './image-error.js';

/** Properties of an image that decide how it looks; others are dropped unless the file says that they must be known. */
const PROPERTIES = ['av1C', 'ispe', 'pixi', 'colr', 'irot', 'imir', 'clap', 'auxC'];
/** What `auxC` says of an image that is another one's transparency. */
const ALPHA_NAMES = ['urn:mpeg:mpegB:cicp:systems:auxiliary:alpha', 'urn:mpeg:hevc:2015:auxid:1'];

interface Property {
  readonly type: string;
  readonly box: Buffer;
  readonly body: Buffer;
}

interface Reference {
  readonly type: string;
  readonly from: number;
  readonly to: readonly number[];
}

/** The contents of a `meta` box. */
class Meta {
  primary = 0;
  isImage = false;
  readonly types = new Map<number, string>();
  readonly extents = new Map<number, { readonly start: number; readonly end: number } | undefined>();
  readonly properties: Property[] = [];
  readonly propertiesOf = new Map<number, { readonly index: number; readonly isEssential: boolean }[]>();
  readonly references: Reference[] = [];
  /** Boxes, items, and references so far. */
  private count = 0;

  counted(): void {
    this.count += 1;
    if (this.count > MAX_FILE_PARTS) throw tooMuch('parts');
  }
}

/** Reads big-endian numbers from bytes in order; throws ImageError when they end too soon. */
class Numbers {
  private at = 0;

  constructor(private readonly bytes: Buffer) {}

  next(size: number): number {
    const at = this.at;
    this.at += size;
    if (this.at > this.bytes.length) throw damaged();
    if (size === 0) return 0;
    if (size <= 6) return this.bytes.readUIntBE(at, size);
    return this.bytes.readUInt32BE(at) * 2 ** 32 + this.bytes.readUInt32BE(at + 4);
  }

  /** The version of a box, and its flags. */
  version(): { readonly version: number; readonly flags: number } {
    return { version: this.next(1), flags: this.next(3) };
  }

  rest(): Buffer {
    return this.bytes.subarray(this.at);
  }
}

/**
 * Reads what the `meta` box of an AVIF file says of its image. Takes at most a fixed number of steps. Throws ImageError:
 * `invalid_image_file` when it is damaged, `unsupported_image_media_type` when its image is not one of AV1.
 */
export function readAvifMeta(body: Buffer): AvifImage {
  const meta = new Meta();
  const numbers = new Numbers(body);
  numbers.version();
  for (const { type, body: content } of boxesIn(numbers.rest(), meta)) BOXES[type]?.(content, meta);
  if (!meta.isImage) throw damaged();
  const type = meta.types.get(meta.primary);
  if (type === undefined) throw damaged();
  if (type === 'grid') throw unsupported('is put together from several tiles');
  if (type !== 'av01') throw unsupported('is not encoded as AV1');
  const alphas = meta.references.filter(({ type: kind, to }) => kind === 'auxl' && to.includes(meta.primary));
  const alpha = alphas.find(({ from }) => isAlpha(from, meta))?.from;
  if (alpha !== undefined && meta.types.get(alpha) !== 'av01') throw unsupported('has transparency in another format');
  return {
    color: itemOf(meta.primary, meta),
    alpha: alpha === undefined ? undefined : itemOf(alpha, meta),
    isPremultiplied: meta.references.some(({ type: kind, from }) => kind === 'prem' && from === meta.primary),
  };
}

const BOXES: Readonly<Record<string, (body: Buffer, meta: Meta) => void>> = {
  hdlr: (body, meta) => {
    meta.isImage = body.toString('latin1', 8, 12) === 'pict';
  },
  pitm: (body, meta) => {
    const numbers = new Numbers(body);
    meta.primary = numbers.next(numbers.version().version === 0 ? 2 : 4);
  },
  iinf: (body, meta) => {
    const numbers = new Numbers(body);
    numbers.next(numbers.version().version === 0 ? 2 : 4);
    for (const { type, body: entry } of boxesIn(numbers.rest(), meta)) if (type === 'infe') readEntry(entry, meta);
  },
  iloc: readLocations,
  iprp: (body, meta) => {
    for (const { type, body: content } of boxesIn(body, meta)) {
      if (type === 'ipco') meta.properties.push(...boxesIn(content, meta));
      if (type === 'ipma') readAssociations(content, meta);
    }
  },
  iref: (body, meta) => {
    const numbers = new Numbers(body);
    const idBytes = numbers.version().version === 0 ? 2 : 4;
    for (const { type, body: content } of boxesIn(numbers.rest(), meta)) {
      const ids = new Numbers(content);
      const from = ids.next(idBytes);
      const to = Array.from({ length: ids.next(2) }, () => {
        meta.counted();
        return ids.next(idBytes);
      });
      meta.references.push({ type, from, to });
    }
  },
};

function readEntry(body: Buffer, meta: Meta): void {
  const numbers = new Numbers(body);
  const { version } = numbers.version();
  // Earlier versions have no type, and no image of AV1 has one of them.
  if (version < 2) return;
  const id = numbers.next(version === 2 ? 2 : 4);
  const isProtected = numbers.next(2) !== 0;
  meta.types.set(id, isProtected ? 'protected' : numbers.rest().toString('latin1', 0, 4));
}

/** Where the data of the items is; undefined for data that is not in one piece of this file. */
function readLocations(body: Buffer, meta: Meta): void {
  const numbers = new Numbers(body);
  const { version } = numbers.version();
  const sizes = numbers.next(1);
  const moreSizes = numbers.next(1);
  const offsetBytes = sizes >> 4;
  const lengthBytes = sizes & 15;
  const baseBytes = moreSizes >> 4;
  const indexBytes = version === 0 ? 0 : moreSizes & 15;
  if ([offsetBytes, lengthBytes, baseBytes, indexBytes].some((size) => ![0, 4, 8].includes(size))) throw damaged();
  for (let left = numbers.next(version < 2 ? 2 : 4); left > 0; left--) {
    meta.counted();
    const id = numbers.next(version < 2 ? 2 : 4);
    const method = version === 0 ? 0 : numbers.next(2) & 15;
    const file = numbers.next(2);
    const base = numbers.next(baseBytes);
    const count = numbers.next(2);
    let range: { start: number; end: number } | undefined;
    for (let extent = 0; extent < count; extent++) {
      meta.counted();
      numbers.next(indexBytes);
      const start = base + numbers.next(offsetBytes);
      range = { start, end: start + numbers.next(lengthBytes) };
    }
    meta.extents.set(id, method === 0 && file === 0 && count === 1 ? range : undefined);
  }
}

function readAssociations(body: Buffer, meta: Meta): void {
  const numbers = new Numbers(body);
  const { version, flags } = numbers.version();
  const indexBytes = (flags & 1) === 0 ? 1 : 2;
  const essential = indexBytes === 1 ? 0x80 : 0x8000;
  for (let left = numbers.next(4); left > 0; left--) {
    meta.counted();
    const id = numbers.next(version === 0 ? 2 : 4);
    const found = meta.propertiesOf.get(id) ?? [];
    for (let more = numbers.next(1); more > 0; more--) {
      meta.counted();
      const value = numbers.next(indexBytes);
      found.push({ index: value & (essential - 1), isEssential: (value & essential) !== 0 });
    }
    meta.propertiesOf.set(id, found);
  }
}

function itemOf(id: number, meta: Meta): AvifItem {
  const range = meta.extents.get(id);
  if (range === undefined && meta.extents.has(id)) throw unsupported('keeps the data of its image in several places');
  if (range === undefined || range.start >= range.end || !Number.isSafeInteger(range.end)) throw damaged();
  const properties = propertiesOf(id, meta);
  const unknown = properties.find(({ type, isEssential }) => isEssential && !PROPERTIES.includes(type));
  if (unknown !== undefined) throw unsupported('uses features of AVIF that are not supported');
  // Each association takes a byte of the file, but the count of an item's is a byte itself.
  if (properties.length > 255) throw damaged();
  const kept = properties.filter(({ type }) => PROPERTIES.includes(type));
  const size = kept.find(({ type }) => type === 'ispe');
  if (size === undefined || !kept.some(({ type }) => type === 'av1C')) throw damaged();
  const numbers = new Numbers(size.body);
  numbers.version();
  return { ...range, width: numbers.next(4), height: numbers.next(4), properties: kept };
}

function propertiesOf(id: number, meta: Meta): (Property & { readonly isEssential: boolean })[] {
  return (meta.propertiesOf.get(id) ?? []).flatMap(({ index, isEssential }) => {
    // Index 0 stands for no property.
    const property = meta.properties[index - 1];
    if (property === undefined && index > 0) throw damaged();
    return property === undefined ? [] : [{ ...property, isEssential }];
  });
}

function isAlpha(id: number, meta: Meta): boolean {
  return propertiesOf(id, meta).some(
    ({ type, body }) => type === 'auxC' && ALPHA_NAMES.includes(body.toString('latin1', 4).split('\0')[0] ?? ''),
  );
}

function* boxesIn(bytes: Buffer, meta: Meta): Generator<Property> {
  for (let at = 0; at < bytes.length;) {
    meta.counted();
    if (at + 8 > bytes.length) throw damaged();
    const size = bytes.readUInt32BE(at);
    if (size < 8 || at + size > bytes.length) throw damaged();
    const box = bytes.subarray(at, at + size);
    yield { type: box.toString('latin1', 4, 8), box, body: box.subarray(8) };
    at += size;
  }
}

function damaged(): ImageError {
  return new ImageError('invalid_image_file', 'The AVIF file is damaged.');
}

function unsupported(why: string): ImageError {
  return new ImageError('unsupported_image_media_type', `The image cannot be read: this AVIF file ${why}.`);
}
