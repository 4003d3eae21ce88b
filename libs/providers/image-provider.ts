import type { Readable } from 'node:stream';
import type { RequestedOptions } from '#contract/image-options.js';
import type { ImageUsage } from '#contract/image-usage.js';

/**
 * A reference image or mask as a provider gets it: checked, upright, without metadata. When a job is resumed there are as
 * many as at its start, but empty.
 */
export interface ProviderInputImage {
  readonly bytes: Buffer;
  readonly contentType: 'image/png' | 'image/jpeg' | 'image/webp';
  readonly width: number;
  readonly height: number;
}

/** The images to make by one call. Pixels are exact; `undefined` lets the provider choose. */
export interface ProviderImageRequest extends RequestedOptions {
  readonly action: 'generation' | 'edit';
  /** What the provider calls the model. */
  readonly model: string;
  readonly prompt: string;
  /** How many images; no more than the descriptor's `maxN`. */
  readonly n: number;
  readonly width: number | undefined;
  readonly height: number | undefined;
  /** Edge of the tier's 1:1 image, in pixels: what a provider that can't choose makes of no width and height. */
  readonly squareEdge?: number | undefined;
  /** Exact `<w>x<h>` that the route offers; undefined leaves it to the provider's own settings. */
  readonly sizes?: readonly string[] | undefined;
  readonly images: readonly ProviderInputImage[];
  readonly mask: ProviderInputImage | undefined;
  /** How many partial images the caller wants while it waits (0..3). */
  readonly partialImages: number;
}

/** What an adapter must know of a call beside what is ordered. */
export interface ProviderCallContext {
  /** Aborted on cancel, deadline, loss of the lease and shutdown. */
  readonly signal: AbortSignal;
  /** Same for every start of one task; a provider with idempotency passes it on. */
  readonly idempotencyKey: string;
  /** The provider's own job id of an earlier start, to resume instead of buying again. */
  readonly resumeJobId: string | undefined;
  /** Milliseconds since the provider named that job; 0 without one. */
  readonly waitedMs: number;
  /** Which start of this task it is, from 1. */
  readonly startNumber: number;
  /** W3C's header for the provider, where the operator lets it have one. */
  readonly traceparent?: string | undefined;
  /** Call as soon as the provider has named its job, before anything else. */
  readonly onAccepted: (providerJobId: string) => Promise<void>;
  /** 0..100 of the provider's part. */
  readonly onProgress: (percent: number) => void;
  readonly onPartial: (image: Buffer, index: number) => void;
}

/** What a call that was paid for has brought. */
export interface ProviderImageResult {
  /** The bytes of each image, one at least; read with a cap by the caller. */
  readonly images: readonly Readable[];
  /** Token usage in OpenAI's shape, when the provider reported it. */
  readonly usage?: ImageUsage;
  /** The size the vendor was asked for, `<w>x<h>`, a ratio or `auto`, where it may differ from what was ordered. */
  readonly sentSize?: string;
  /** What was asked for and could not be honored, in plain words. */
  readonly warnings: readonly string[];
}

/** The vendor works on, and nobody need wait for it: the task is parked and asked for again by its job id. */
export interface ProviderPending {
  readonly pending: {
    /** Milliseconds until it is worth asking again. */
    readonly checkAfterMs: number;
  };
}

/** A vendor of images. An adapter only translates: it never retries, stores or logs bodies. */
export interface ImageProvider {
  readonly name: string;
  /** Nothing is ever charged. */
  readonly free: boolean;
  /** What becomes of a task after a start that may have been charged and brought no image. */
  readonly interrupted: 'retry' | 'fail';
  /** Milliseconds after which it gives up a call; absent where calls end at once when they are aborted and cost nothing. */
  readonly longestCallMs?: number;
  /** Which pixels of a mask it paints anew: the transparent ones, as callers give it, unless it wants the white ones. */
  readonly maskForm?: 'alpha' | 'white';
  /**
   * Throws ProviderError, or the signal's reason when aborted. Answers pending only after `onAccepted`. A ProviderError is
   * the last word on the call, and on the job it named: who can't be asked for a job just now answers pending.
   */
  generate(request: ProviderImageRequest, context: ProviderCallContext): Promise<ProviderImageResult | ProviderPending>;
}

/** Whether a call was only cut short by a stop of this process: its job will be asked for again, so it is left running. */
export function jobGoesOn(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'ShuttingDown';
}

/**
 * Whether another start may follow one that was charged like that: the one rule about buying twice. What was surely
 * charged is never bought again; what may have been, only where the provider's policy says so.
 */
export function mayBuyAgain(
  provider: Pick<ImageProvider, 'free' | 'interrupted'>,
  charged: 'no' | 'maybe' | 'yes',
): boolean {
  if (charged === 'no' || provider.free) return true;
  return charged === 'maybe' && provider.interrupted === 'retry';
}
