import { inSlices, lengthOf, withoutFirst } from '#bytes/bytes.js';
import { plainAvif, readAvif } from './avif-boxes.js';
import { FileParts, type ImagePixels, type Insertion } from './file-parts.js';
import { FileWalk, type FileReader } from './file-walk.js';
import { gifXmp, fixGifHeader, readGif } from './gif-blocks.js';
import { ImageError } from './image-error.js';
import { jpegXmp, readJpeg } from './jpeg-segments.js';
import { pngXmp, readPng } from './png-chunks.js';
import { FORMAT_NAMES, type ImageType, type InputType } from './sniff.js';
import { fixWebpHeader, readWebp, webpXmp, type WebpMetadata } from './webp-chunks.js';

const READERS: Record<InputType, (parts: FileParts) => FileReader> = {
  png: readPng,
  jpeg: readJpeg,
  webp: readWebp,
  gif: readGif,
  avif: readAvif,
};
/** For the formats of results. */
const INSERTERS: Record<ImageType, (xmp: string, pixels: ImagePixels, parts: FileParts) => Insertion> = {
  png: pngXmp,
  jpeg: jpegXmp,
  webp: webpXmp,
  gif: gifXmp,
};
/** Bytes walked before yielding to the event loop; the worst input takes one step per two bytes. */
export const WALK_BYTES = 131_072;

/** Bytes at the start of a file that change with its metadata: a WebP's length and flags, a GIF's version. */
const CHANGING_BYTES = 32;

/** An image file, separated into the image itself and its metadata. Its parts are not copied. */
export class FileStructure {
  private constructor(
    readonly bytes: Buffer,
    readonly type: InputType,
    private readonly parts: FileParts,
  ) {}

  /**
   * Walks through the file in slices, without copying it. Throws ImageError `invalid_image_file` when it is damaged or
   * has more parts than any image needs.
   */
  static async of(bytes: Buffer, type: InputType): Promise<FileStructure> {
    const parts = new FileParts();
    const walk = new FileWalk(READERS[type](parts));
    for await (const slice of inSlices(bytes, WALK_BYTES)) {
      walk.take(slice);
      if (walk.ended) return new FileStructure(bytes, type, parts);
    }
    throw incomplete(type);
  }

  get isAnimated(): boolean {
    return this.parts.isAnimated;
  }

  /**
   * Size and transparency if the file's parts determine them and there is no orientation; undefined if only a decoder
   * can tell.
   */
  get pixels(): ImagePixels | undefined {
    return this.parts.pixels;
  }

  /**
   * Whether the file's checksums have shown that its pixels are as they were written. Otherwise only a decoder can tell.
   */
  get isVerified(): boolean {
    return this.parts.isVerified;
  }

  /** Number of byte ranges that make up the image. */
  get ranges(): number {
    return this.parts.kept.length;
  }

  /** Whether it has content credentials (C2PA), which any other change to the file invalidates. */
  get hasCredentials(): boolean {
    return this.parts.hasCredentials;
  }

  /** Whether it has XMP, and no more than is kept. */
  get hasXmp(): boolean {
    return this.parts.hasXmp;
  }

  /** Whether it has metadata that may be personal, or trailing bytes. */
  get mustBeCleaned(): boolean {
    return this.parts.mustBeCleaned || this.parts.end < this.bytes.length;
  }

  /** The file without metadata and trailing bytes, in pieces; pixels and color profile are unchanged. */
  async image(): Promise<readonly Buffer[]> {
    return this.piecesWith(this.parts.kept, { exif: false, xmp: false });
  }

  /** Like `image`, with the file's own XMP. */
  async imageWithXmp(): Promise<readonly Buffer[]> {
    return this.piecesWith(this.parts.withXmp, { exif: false, xmp: true });
  }

  /** Like `image`, with the given XMP and the pixels of the image's header. */
  marked(xmp: string, pixels: ImagePixels): readonly Buffer[] {
    if (this.type === 'avif') throw new Error('no result is an AVIF');
    const { kept, headEnd } = this.parts;
    const { head, end } = INSERTERS[this.type](xmp, pixels, this.parts);
    const before = this.rangesOf(kept.map((range) => ({ start: range.start, end: Math.min(range.end, headEnd) })));
    const after = this.rangesOf(kept.map((range) => ({ start: Math.max(range.start, headEnd), end: range.end })));
    return this.fixed([...before, head, ...after, end], { exif: false, xmp: true });
  }

  /** The image and its orientation: all that a decoder needs to read its header. */
  async readable(): Promise<readonly Buffer[]> {
    return this.piecesWith(this.parts.readable, { exif: true, xmp: false });
  }

  private async piecesWith(ranges: FileParts['kept'], metadata: WebpMetadata): Promise<readonly Buffer[]> {
    if (this.parts.avif !== undefined) return [await plainAvif(this.bytes, this.parts.avif)];
    return this.fixed(this.rangesOf(ranges), metadata);
  }

  private rangesOf(ranges: FileParts['kept']): Buffer[] {
    return ranges.filter(({ start, end }) => start < end).map(({ start, end }) => this.bytes.subarray(start, end));
  }

  /** Replaces the start of the file where it depends on the metadata. */
  private fixed(pieces: readonly Buffer[], metadata: WebpMetadata): readonly Buffer[] {
    if (this.type !== 'webp' && (this.type !== 'gif' || !metadata.xmp)) return pieces;
    const bytes = lengthOf(pieces);
    const start = Buffer.concat(pieces, Math.min(bytes, CHANGING_BYTES));
    if (this.type === 'webp') fixWebpHeader(start, bytes, metadata);
    else fixGifHeader(start);
    return [start, ...withoutFirst(pieces, start.length)];
  }
}

/** Checks an image file while it arrives, to reject an unusable one before it is complete. */
export class FileWatch {
  private readonly walk: FileWalk;

  constructor(private readonly type: InputType) {
    this.walk = new FileWalk(READERS[type](new FileParts()));
  }

  /** Throws ImageError `invalid_image_file` when it is damaged or has more parts than any image needs. */
  take(piece: Buffer): void {
    if (!this.walk.ended) this.walk.take(piece);
  }

  /** Throws ImageError `invalid_image_file` when what has arrived is not a whole file. */
  end(): void {
    if (!this.walk.ended) throw incomplete(this.type);
  }
}

function incomplete(type: InputType): ImageError {
  return new ImageError('invalid_image_file', `The ${FORMAT_NAMES[type]} file is damaged or incomplete.`);
}
