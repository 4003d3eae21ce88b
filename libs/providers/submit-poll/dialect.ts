import type { Size } from '../offered-size.js';

/** What a vendor is sent for the size of an image. */
export interface SentSize {
  /** The vendor's own fields. */
  readonly fields: Readonly<Record<string, string>>;
  /** What comes of it: `<w>x<h>` or `auto`. */
  readonly size: string;
}

/** Options that only some models of a vendor know. */
export const MODEL_OPTIONS = ['quality', 'moderation', 'mask'] as const;
export type ModelOption = (typeof MODEL_OPTIONS)[number];

/** What one vendor of the family calls things. Everything else is the same for all of them. */
export interface Dialect {
  readonly taskPath: (jobId: string) => string;
  /** Where the job's id stands in the answer to a submit. */
  readonly jobId: (answer: unknown) => unknown;
  /** Where status, progress and error of a job stand in the answer to a look. */
  readonly task: (answer: unknown) => unknown;
  /** The images of a finished job, each an address, base64 or a data URI. */
  readonly images: (task: unknown) => readonly unknown[];
  /** Where reference images are uploaded to: below the base URL, or a whole URL. */
  readonly uploadPath: string;
  /** Where the address of an uploaded image stands. */
  readonly uploaded: (answer: unknown) => unknown;
  /** `squareEdge` is the edge of the tier's 1:1 image, where no size is wanted. */
  readonly sizeFor: (model: string, wanted: Size | undefined, squareEdge: number | undefined) => SentSize;
  readonly accepts: (model: string) => readonly ModelOption[];
  /** Whether it has an Idempotency-Key header. */
  readonly idempotency: boolean;
}
