import { ImageError } from './image-error.js';

/** Segments or chunks of a file at most: images have some ten, the largest with small chunks a few thousand. */
export const MAX_FILE_PARTS = 10_000;
/** Bytes of all color profiles of a file at most. */
const MAX_PROFILE_BYTES = 4_000_000;
/** Bytes of metadata that are searched for how the image is turned; later ones are not looked at. */
const MAX_EXIF_BYTES = 1_000_000;
/** Bytes of XMP of a file at most that are kept: whoever opens the image later has to read all of it. */
const MAX_XMP_BYTES = 1_000_000;

interface Range {
  readonly start: number;
  end: number;
}

/**
 * What becomes of a part of a file: `pixels` and `profile` decide how it looks and stay; `exif` says how it is turned
 * and is only read; `xmp` and `credentials` (C2PA) say where it comes from and may stay in a result. The rest is
 * dropped: `other` because it may be personal, `harmless` (resolution, padding) only when the file is written anew.
 */
export type PartKind = 'pixels' | 'profile' | 'exif' | 'xmp' | 'credentials' | 'harmless' | 'other';

/** What is to be seen in a file's image. */
export interface ImagePixels {
  readonly width: number;
  readonly height: number;
  readonly hasAlpha: boolean;
}

/** What is added to a file so that it says more about itself: behind its first parts, and at its end. */
export interface Insertion {
  readonly head: Buffer;
  readonly end: Buffer;
}

/** The parts of a file in the order they come, and which ranges of its bytes are worth keeping. */
export class FileParts {
  /** Ranges that make the image; neighbors are one. */
  readonly kept: Range[] = [];
  /** The same, and what says how it is turned. */
  readonly readable: Range[] = [];
  /** Ranges that make the image, and its XMP. */
  readonly withXmp: Range[] = [];
  isAnimated = false;
  hasCredentials = false;
  /** What is to be seen, where the parts alone say so; undefined where a decoder has to be asked. */
  pixels: ImagePixels | undefined;
  /** Where the last part ends. */
  end = 0;
  /** Where the parts end that must come first: this is where something can be inserted. */
  headEnd = 0;
  private count = 0;
  private profileBytes = 0;
  private exifBytes = 0;
  private xmpBytes = 0;
  private hasOther = false;

  get hasXmp(): boolean {
    return this.xmpBytes > 0 && this.xmpBytes <= MAX_XMP_BYTES;
  }

  /** Whether something in it may be personal, or is more than is kept. */
  get mustBeCleaned(): boolean {
    return this.hasOther || this.xmpBytes > MAX_XMP_BYTES;
  }

  /** The next part ends at this offset. Throws ImageError `invalid_image_file` beyond what any image needs. */
  add(end: number, kind: PartKind): void {
    const bytes = end - this.end;
    this.count += 1;
    if (this.count > MAX_FILE_PARTS) throw tooMuch('parts');
    if (kind === 'profile') this.profileBytes += bytes;
    if (this.profileBytes > MAX_PROFILE_BYTES) throw tooMuch('color profiles');
    if (kind === 'exif') this.exifBytes += bytes;
    if (kind === 'xmp') this.xmpBytes += bytes;
    if (kind === 'credentials') this.hasCredentials = true;
    if (kind === 'exif' || kind === 'other') this.hasOther = true;
    const isKept = kind === 'pixels' || kind === 'profile';
    if (isKept) extend(this.kept, this.end, end);
    if (isKept || kind === 'xmp') extend(this.withXmp, this.end, end);
    if (isKept || (kind === 'exif' && this.exifBytes <= MAX_EXIF_BYTES)) extend(this.readable, this.end, end);
    this.end = end;
  }
}

function extend(ranges: Range[], start: number, end: number): void {
  const last = ranges.at(-1);
  if (last?.end === start) last.end = end;
  else ranges.push({ start, end });
}

function tooMuch(of: string): ImageError {
  return new ImageError('invalid_image_file', `The image file has more ${of} than any image needs.`);
}
