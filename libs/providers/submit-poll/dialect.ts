import type { Size } from '../offered-size.js';

/** The size fields sent to a vendor. */
export interface SentSize {
  /** The vendor's own fields. */
  readonly fields: Readonly<Record<string, string>>;
  /** The resulting size: `<w>x<h>` or `auto`. */
  readonly size: string;
}

/** Options that only some of a vendor's models support. */
export const MODEL_OPTIONS = ['quality', 'moderation', 'mask'] as const;
export type ModelOption = (typeof MODEL_OPTIONS)[number];

/** One vendor's names for things; everything else is the same for all of them. */
export interface Dialect {
  readonly taskPath: (jobId: string) => string;
  /** Reads the job's id from the response to a submit. */
  readonly jobId: (answer: unknown) => unknown;
  /** Reads the object with the job's status, progress, and error from a status response. */
  readonly task: (answer: unknown) => unknown;
  /** The images of a finished job, each a URL, base64, or a data URI. */
  readonly images: (task: unknown) => readonly unknown[];
  /** Where reference images are uploaded: relative to the base URL, or a full URL. */
  readonly uploadPath: string;
  /** Reads the URL of an uploaded image. */
  readonly uploaded: (answer: unknown) => unknown;
  /** `squareEdge` is the edge of the tier's 1:1 image, used if no size is requested. */
  readonly sizeFor: (model: string, wanted: Size | undefined, squareEdge: number | undefined) => SentSize;
  readonly accepts: (model: string) => readonly ModelOption[];
  /** Whether it supports an Idempotency-Key header. */
  readonly idempotency: boolean;
}
