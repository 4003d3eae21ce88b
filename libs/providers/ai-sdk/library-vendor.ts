import type { createFal } from '@ai-sdk/fal';
import type { ErrorFields } from '../http/error-body.js';
import type { ProviderImageRequest } from '../image-provider.js';

/** A model in the library; the version of its specification is `v3`. */
type LibraryModel = ReturnType<ReturnType<typeof createFal>['image']>;
export type LibraryCall = Parameters<LibraryModel['doGenerate']>[0];
export type LibraryAnswer = Awaited<ReturnType<LibraryModel['doGenerate']>>;
export type Fetch = typeof globalThis.fetch;

/** Inputs that only some models of a vendor take: one reference image, several, or a mask. */
export type ModelInput = 'image' | 'images' | 'mask';

/** One call, in the library's terms. */
export interface LibraryOrder {
  readonly call: Partial<LibraryCall>;
  /** The requested size: `<w>x<h>`, a ratio, or `auto`. */
  readonly size: string;
  readonly warnings: readonly string[];
}

/** The meaning of an error response. */
interface VendorRefusal {
  /** The status that the vendor should have sent, if it sent another one. */
  readonly status?: number;
  readonly fields: ErrorFields | undefined;
  /** Seconds. */
  readonly retryAfter?: number | undefined;
}

/** A vendor that the library supports: how to order from it, and how to read its responses. */
export interface LibraryVendor {
  /** Which pixels of a mask are repainted, if the vendor takes one: the white or the transparent ones. */
  readonly maskForm: 'alpha' | 'white';
  readonly keyHeaders: (secret: string) => Readonly<Record<string, string>>;
  readonly model: (name: string, baseURL: string, fetch: Fetch) => LibraryModel;
  /** Throws ProviderError for anything that the model can't take. */
  readonly order: (request: ProviderImageRequest, takes: readonly ModelInput[]) => LibraryOrder;
  readonly refusal: (status: number, body: unknown) => VendorRefusal;
  /** The JSON of a response as the library should read it, for example without drafts that it would take for images. */
  readonly readable?: (value: unknown) => unknown;
  /** Whether a response without an image answers this request in words, so that it says nothing about the vendor. */
  readonly isWorded?: (value: unknown) => boolean;
  /** Whether the image is missing because the request was blocked. */
  readonly isBlocked: (answer: LibraryAnswer) => boolean;
  /** Whether an image is black because it was blocked. */
  readonly isWithheld: (answer: LibraryAnswer, index: number) => boolean;
}
