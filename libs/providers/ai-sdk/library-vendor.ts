import type { createFal } from '@ai-sdk/fal';
import type { ErrorFields } from '../http/failures.js';
import type { ProviderImageRequest } from '../image-provider.js';

/** A model as the library has it; the version of its specification is `v3`. */
type LibraryModel = ReturnType<ReturnType<typeof createFal>['image']>;
export type LibraryCall = Parameters<LibraryModel['doGenerate']>[0];
export type LibraryAnswer = Awaited<ReturnType<LibraryModel['doGenerate']>>;
export type Fetch = typeof globalThis.fetch;

/** What only some models of a vendor take: one reference image, a list of them, a mask. */
export type ModelInput = 'image' | 'images' | 'mask';

/** One call in the library's words. */
export interface LibraryOrder {
  readonly call: Partial<LibraryCall>;
  /** What the vendor is asked for: `<w>x<h>`, a ratio, or `auto`. */
  readonly size: string;
  readonly warnings: readonly string[];
}

/** What an answer other than 2xx says. */
interface VendorRefusal {
  /** What the vendor should have answered, where it has a word of its own for it. */
  readonly status?: number;
  readonly fields: ErrorFields | undefined;
  /** Seconds. */
  readonly retryAfter?: number | undefined;
}

/** One vendor that the library speaks to: what it is asked for, and what its answers mean. */
export interface LibraryVendor {
  /** Which pixels of a mask are painted anew, where it takes one: the white ones or the transparent ones. */
  readonly maskForm: 'alpha' | 'white';
  readonly keyHeaders: (secret: string) => Readonly<Record<string, string>>;
  readonly model: (name: string, baseURL: string, fetch: Fetch) => LibraryModel;
  /** Throws ProviderError for what the model can't take. */
  readonly order: (request: ProviderImageRequest, takes: readonly ModelInput[]) => LibraryOrder;
  readonly refusal: (status: number, body: unknown) => VendorRefusal;
  /** Whether there is no image because of what was asked for. */
  readonly isBlocked: (answer: LibraryAnswer) => boolean;
  /** Whether one of its images is black because of that. */
  readonly isWithheld: (answer: LibraryAnswer, index: number) => boolean;
}
