import { inSlices, joined } from '#bytes/slices.js';
import { FileParts } from './file-parts.js';
import { FileWalk, type FileReader } from './file-walk.js';
import { ImageError } from './image-error.js';
import { readJpeg } from './jpeg-segments.js';
import { readPng } from './png-chunks.js';
import type { ImageType } from './sniff.js';
import { mendWebpHeader, readWebp } from './webp-chunks.js';

const READERS: Record<ImageType, (parts: FileParts) => FileReader> = { png: readPng, jpeg: readJpeg, webp: readWebp };
const NAMES: Record<ImageType, string> = { png: 'PNG', jpeg: 'JPEG', webp: 'WebP' };
/** Bytes walked between two breaths of the event loop; the worst of them cost a step for every two. */
export const WALK_BYTES = 131_072;

/** An image file taken apart into what makes the image and what is only said about it. */
export class FileStructure {
  private constructor(
    private readonly bytes: Buffer,
    private readonly type: ImageType,
    private readonly parts: FileParts,
  ) {}

  /**
   * Walks through the file in slices, without a copy. Throws ImageError `invalid_image_file` when it is damaged or has
   * more parts than any image needs.
   */
  static async of(bytes: Buffer, type: ImageType): Promise<FileStructure> {
    const parts = new FileParts();
    const walk = new FileWalk(READERS[type](parts));
    for await (const slice of inSlices(bytes, WALK_BYTES)) {
      walk.take(slice);
      if (walk.ended) return new FileStructure(bytes, type, parts);
    }
    throw new ImageError('invalid_image_file', `The ${NAMES[type]} file is damaged or incomplete.`);
  }

  get isAnimated(): boolean {
    return this.parts.isAnimated;
  }

  /** How many ranges of the file the image is made of. */
  get ranges(): number {
    return this.parts.kept.length;
  }

  /** The file without metadata and trailing bytes; pixels and colour profile stay as they are. */
  async image(): Promise<Buffer> {
    return this.copy(this.parts.kept, false);
  }

  /** The same with what says how the image is turned: all that a decoder needs to read its header. */
  async readable(): Promise<Buffer> {
    return this.copy(this.parts.readable, true);
  }

  private async copy(ranges: FileParts['kept'], hasExif: boolean): Promise<Buffer> {
    const [first] = ranges;
    const isWhole = ranges.length === 1 && first?.start === 0 && first.end === this.bytes.length;
    if (isWhole && this.type !== 'webp') return this.bytes;
    const copy = await joined(ranges.map(({ start, end }) => this.bytes.subarray(start, end)));
    if (this.type === 'webp') mendWebpHeader(copy, hasExif);
    return copy;
  }
}

/** Watches an image file while it arrives, so that one no image needs is refused before all of it is there. */
export class FileWatch {
  private walk: FileWalk | undefined;

  constructor(type: ImageType) {
    this.walk = new FileWalk(READERS[type](new FileParts()));
  }

  /** Throws ImageError `invalid_image_file`: damaged, or more parts than any image needs. */
  take(piece: Buffer): void {
    if (this.walk?.ended === false) this.walk.take(piece);
  }
}
