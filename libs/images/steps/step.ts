import type { Sharp } from 'sharp';
import type { OpenedImage } from '../header.js';
import type { ProvenanceMark } from '../provenance-mark.js';
import { openImage } from '../sharp.js';
import type { ImageType } from '../sniff.js';

/** Requirements on the finished image. */
export interface FinishOrder {
  /** Exact size in pixels; undefined keeps the image's own. */
  readonly target: { readonly width: number; readonly height: number } | undefined;
  readonly format: ImageType;
  /** 0..100, the quality of jpeg and webp. */
  readonly compression: number | undefined;
  readonly background: 'transparent' | 'opaque' | 'auto' | undefined;
  /** Mark for files that don't state their own origin; undefined removes all metadata about it. */
  readonly mark: ProvenanceMark | undefined;
}

/** Whether a file states its image's origin: by the provider's own metadata, by our mark, or not at all. */
export type Provenance = 'kept' | 'marked' | 'none';

/**
 * An image between two steps: its file, and the changes requested so far, which are applied together when encoding.
 */
export interface ImageInWork extends OpenedImage {
  /** The file as it is stored, in pieces: with or without metadata that `file` has. */
  readonly pieces: readonly Buffer[];
  readonly changes: Sharp | undefined;
  /** It is the provider's own file; we did not encode it. */
  readonly isOriginal: boolean;
  /** The origin that the pieces state. */
  readonly provenance: Provenance;
}

/** One named change or check in the finishing of an image. */
export interface Step {
  readonly name: string;
  run(image: ImageInWork, order: FinishOrder): ImageInWork | Promise<ImageInWork>;
}

/** The pipeline that collects changes, created for the first change, with the orientation applied. */
export function changesOf(image: ImageInWork): Sharp {
  return image.changes ?? openImage(image.file.bytes).autoOrient();
}
