import type { Sharp } from 'sharp';
import type { ImageHeader } from '../header.js';
import type { ProvenanceMark } from '../provenance-mark.js';
import { openImage } from '../sharp.js';
import type { ImageType } from '../sniff.js';

/** What the finished image must be. */
export interface FinishOrder {
  /** Exact pixels; undefined keeps the image's own. */
  readonly target: { readonly width: number; readonly height: number } | undefined;
  readonly format: ImageType;
  /** 0..100, the quality of jpeg and webp. */
  readonly compression: number | undefined;
  readonly background: 'transparent' | 'opaque' | 'auto' | undefined;
  /** What a file says that does not tell itself where it comes from; undefined removes what it tells. */
  readonly mark: ProvenanceMark | undefined;
  /** Whether a small copy is wanted too. */
  readonly thumbnail: boolean;
}

/** Whether a file tells where its image comes from: as its provider wrote it, by our mark, or not. */
export type Provenance = 'kept' | 'marked' | 'none';

/** An image between two steps: its bytes, and the changes asked for so far, applied all at once when encoding. */
export interface ImageInWork {
  readonly bytes: Buffer;
  readonly header: ImageHeader;
  readonly changes: Sharp | undefined;
  /** The bytes are as the provider sent them, not written by us. */
  readonly isOriginal: boolean;
  /** What is known of the bytes as they are. */
  readonly provenance: Provenance;
  /** WebP; undefined where none is ordered, or the image is small itself. */
  readonly thumbnail: Buffer | undefined;
}

/** One named change or check on the way to a finished image. */
export interface Step {
  readonly name: string;
  run(image: ImageInWork, order: FinishOrder): ImageInWork | Promise<ImageInWork>;
}

/** The pipeline that collects changes, opened upright at the first one. */
export function changesOf(image: ImageInWork): Sharp {
  return image.changes ?? openImage(image.bytes).autoOrient();
}
