import { ImageError } from './image-error.js';

/** Segments or chunks of a file at most: images have some ten, the largest with small chunks a few thousand. */
export const MAX_FILE_PARTS = 10_000;
/** Bytes of all colour profiles of a file at most. */
const MAX_PROFILE_BYTES = 4_000_000;
/** Bytes of metadata that are searched for how the image is turned; later ones are not looked at. */
const MAX_EXIF_BYTES = 1_000_000;

interface Range {
  readonly start: number;
  end: number;
}

/**
 * What becomes of a part of a file: `pixels` and `profile` decide how it looks and stay, `exif` says how it is turned
 * and is only read, and `other` is dropped.
 */
export type PartKind = 'pixels' | 'profile' | 'exif' | 'other';

/** The parts of a file in the order they come, and which ranges of its bytes are worth keeping. */
export class FileParts {
  /** Ranges that make the image; neighbours are one. */
  readonly kept: Range[] = [];
  /** The same, and what says how it is turned. */
  readonly readable: Range[] = [];
  isAnimated = false;
  /** Where the last part ends. */
  end = 0;
  private count = 0;
  private profileBytes = 0;
  private exifBytes = 0;

  /** The next part ends at this offset. Throws ImageError `invalid_image_file` beyond what any image needs. */
  add(end: number, kind: PartKind): void {
    const bytes = end - this.end;
    this.count += 1;
    if (this.count > MAX_FILE_PARTS) throw tooMuch('parts');
    if (kind === 'profile') this.profileBytes += bytes;
    if (this.profileBytes > MAX_PROFILE_BYTES) throw tooMuch('colour profiles');
    if (kind === 'exif') this.exifBytes += bytes;
    const isKept = kind === 'pixels' || kind === 'profile';
    if (isKept) extend(this.kept, this.end, end);
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
