import { ImageError } from './image-error.js';

/** Maximum segments or chunks of a file: images have about ten, the largest with small chunks a few thousand. */
export const MAX_FILE_PARTS = 10_000;
/** Maximum bytes of all color profiles of a file. */
const MAX_PROFILE_BYTES = 4_000_000;
/** Bytes of EXIF that are searched for the orientation; EXIF beyond this is ignored. */
const MAX_EXIF_BYTES = 1_000_000;
/** Maximum bytes of XMP kept in a file, because any program that opens the image has to read all of it. */
const MAX_XMP_BYTES = 1_000_000;

interface Range {
  readonly start: number;
  end: number;
}

/**
 * What happens to a part of a file. `pixels` and `profile` decide how the image looks and stay. `exif` contains the
 * orientation and is only read. `xmp` and `credentials` (C2PA) state the image's origin and may stay in a result. The
 * rest is dropped: `other` because it may be personal, `harmless` (resolution, padding) only when the file is
 * rewritten.
 */
export type PartKind = 'pixels' | 'profile' | 'exif' | 'xmp' | 'credentials' | 'harmless' | 'other';

/** Size and transparency of an image. */
export interface ImagePixels {
  readonly width: number;
  readonly height: number;
  readonly hasAlpha: boolean;
}

/** A coded image in an AVIF file: where its data is, and its properties as they are in the file. */
export interface AvifItem {
  readonly start: number;
  readonly end: number;
  readonly width: number;
  readonly height: number;
  readonly properties: readonly { readonly box: Buffer; readonly isEssential: boolean }[];
}

/** The still image of an AVIF file: its colors, and its transparency if it has any. */
export interface AvifImage {
  readonly color: AvifItem;
  readonly alpha: AvifItem | undefined;
  /** Whether the colors are multiplied by the transparency. */
  readonly isPremultiplied: boolean;
}

/** Bytes that add metadata to a file: some after its first parts, some at its end. */
export interface Insertion {
  readonly head: Buffer;
  readonly end: Buffer;
}

/** The parts of a file in order, and the byte ranges worth keeping. */
export class FileParts {
  /** Ranges of the image itself; adjacent ranges are merged. */
  readonly kept: Range[] = [];
  /** `kept`, and the EXIF that contains the orientation. */
  readonly readable: Range[] = [];
  /** `kept`, and the file's XMP. */
  readonly withXmp: Range[] = [];
  isAnimated = false;
  hasCredentials = false;
  /** Whether checksums have shown that the pixels are as they were written, so that they need not be decoded. */
  isVerified = false;
  /** Size and transparency if the parts alone determine them; undefined if only a decoder can tell. */
  pixels: ImagePixels | undefined;
  /** What an AVIF file says of its image. */
  avif: AvifImage | undefined;
  /** Offset where the last part ends. */
  end = 0;
  /** Offset after the parts that must come first, where metadata can be inserted. */
  headEnd = 0;
  private count = 0;
  private profileBytes = 0;
  private exifBytes = 0;
  private xmpBytes = 0;
  private hasOther = false;

  get hasXmp(): boolean {
    return this.xmpBytes > 0 && this.xmpBytes <= MAX_XMP_BYTES;
  }

  /** Whether the file may contain personal data, or more XMP than is kept. */
  get mustBeCleaned(): boolean {
    return this.hasOther || this.xmpBytes > MAX_XMP_BYTES;
  }

  /** Adds the part that ends at this offset. Throws ImageError `invalid_image_file` beyond what any image needs. */
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

/** The error for more of something than any image needs. */
export function tooMuch(of: string): ImageError {
  return new ImageError('invalid_image_file', `The image file has more ${of} than any image needs.`);
}
