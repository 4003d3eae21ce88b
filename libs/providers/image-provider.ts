import type { RequestedOptions } from '#contract/image-options.js';
import type { ImageUsage } from '#contract/image-usage.js';
import type { ProviderError } from './provider-error.js';

/**
 * A validated reference image or mask, upright and without metadata. When a job is resumed, there are as many as at its
 * start, but their bytes are empty.
 */
export interface ProviderInputImage {
  readonly bytes: Buffer;
  readonly contentType: 'image/png' | 'image/jpeg' | 'image/webp';
  readonly width: number;
  readonly height: number;
}

/** The images to generate with one call. Pixels are exact; `undefined` lets the provider choose. */
export interface ProviderImageRequest extends RequestedOptions {
  readonly action: 'generation' | 'edit';
  /** The provider's name for the model. */
  readonly model: string;
  readonly prompt: string;
  /** Number of images, at most the descriptor's `maxN`. */
  readonly n: number;
  readonly width: number | undefined;
  readonly height: number | undefined;
  /** Edge of the tier's 1:1 image, in pixels; used if there is no width and height and the provider can't choose. */
  readonly squareEdge?: number | undefined;
  /** Exact `<w>x<h>` sizes of the route; undefined leaves them to the provider's own settings. */
  readonly sizes?: readonly string[] | undefined;
  readonly images: readonly ProviderInputImage[];
  readonly mask: ProviderInputImage | undefined;
  /** Drawing over the first image that guides the edit. */
  readonly markup?: ProviderInputImage | undefined;
  /** Number of partial images that the caller wants (0..3). */
  readonly partialImages: number;
}

/** The circumstances of a call, in addition to the order. */
export interface ProviderCallContext {
  /** Aborted on cancellation, deadline, loss of the lease, and shutdown. */
  readonly signal: AbortSignal;
  /** The same for every start of a task; sent to providers that support idempotency. */
  readonly idempotencyKey: string;
  /** The provider's job id from an earlier start, to resume instead of paying again. */
  readonly resumeJobId: string | undefined;
  /** Milliseconds since the provider named the job; 0 without a job. */
  readonly waitedMs: number;
  /** Number of this start of the task, from 1. */
  readonly startNumber: number;
  /** W3C trace header for the provider, if the operator allows it. */
  readonly traceparent?: string | undefined;
  /** To be called as soon as the provider has named its job, before anything else. */
  readonly onAccepted: (providerJobId: string) => Promise<void>;
  /** Percentage of the provider's work, 0..100. */
  readonly onProgress: (percent: number) => void;
  /** `size`: pixels of the final image, `<w>x<h>`; undefined where the provider does not say. */
  readonly onPartial: (image: Buffer, index: number, size?: string) => void;
}

/** Result of a successful call. */
export interface ProviderImageResult {
  /** At least one, of at most 64 MB. */
  readonly images: readonly Buffer[];
  /** Token usage in OpenAI's format, if the provider reported it. */
  readonly usage?: ImageUsage;
  /** The size sent to the vendor (`<w>x<h>`, a ratio, or `auto`), if it may differ from the ordered one. */
  readonly sentSize?: string;
  /** Requested features that could not be honored, as sentences for callers. */
  readonly warnings: readonly string[];
}

/** The vendor is still working: the task is parked, and checked again later by its job id. */
export interface ProviderPending {
  readonly pending: {
    /** Milliseconds until the next check is useful. */
    readonly checkAfterMs: number;
    /** Why the job could not be checked, for operators; the job itself goes on. */
    readonly problem?: ProviderError;
  };
}

/** How soon to check a job again that could not be checked, unless the provider asked for more time. */
const UNCHECKED_WAIT_MS = 15_000;

/** A finished image must not wait until its task's deadline, whatever the provider asked for. */
const LONGEST_TOLD_MS = 60_000;

/** The result of a call whose job is not finished; `retryAfter`: seconds that the provider asked to wait. */
export function checkedLater(ms: number, retryAfter: number | undefined): ProviderPending {
  const toldMs = Math.min(Math.round((retryAfter ?? 0) * 1_000), LONGEST_TOLD_MS);
  return { pending: { checkAfterMs: Math.max(ms, toldMs) } };
}

/** The result of a call that could not check its job. */
export function unchecked(problem: ProviderError): ProviderPending {
  const { pending } = checkedLater(UNCHECKED_WAIT_MS, problem.retryAfter);
  return { pending: { ...pending, problem } };
}

/** An image vendor. An adapter only translates: it never retries, stores, or logs bodies. */
export interface ImageProvider {
  readonly name: string;
  /** Whether no call is ever charged. */
  readonly free: boolean;
  /** Whether to retry a task after a start that may have been charged and returned no image. */
  readonly interrupted: 'retry' | 'fail';
  /** Time limit of a call, in ms; absent if calls end at once when aborted and cost nothing. */
  readonly longestCallMs?: number;
  /** Which pixels of a mask are repainted: the transparent ones, as in callers' masks, or the white ones. */
  readonly maskForm?: 'alpha' | 'white';
  /**
   * Throws ProviderError, or the signal's reason when aborted. Returns pending only after `onAccepted`. A ProviderError
   * is final for the call and its job; while a job can't be checked, return `unchecked` instead.
   */
  generate(request: ProviderImageRequest, context: ProviderCallContext): Promise<ProviderImageResult | ProviderPending>;
}

/** Whether a call was aborted only because this process stops; its job is left running and resumed later. */
export function isShutdownAbort(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'ShuttingDown';
}

/**
 * Whether another start may follow one with this `charged` value; the only rule about paying twice. A start that was
 * certainly charged is never repeated; one that may have been, only if the provider's policy allows it.
 */
export function mayStartAgain(
  provider: Pick<ImageProvider, 'free' | 'interrupted'>,
  charged: 'no' | 'maybe' | 'yes',
): boolean {
  if (charged === 'no' || provider.free) return true;
  return charged === 'maybe' && provider.interrupted === 'retry';
}
