import { AppError } from '#contract/app-error.js';
import { fetchImages, untilPatienceEnds, type NamedImage } from '../http/fetch-image.js';
import type { ImageFetcher } from '../provider-descriptor.js';
import { textAt, valueAt } from '../http/json-value.js';
import { tokenUsage } from '../http/token-usage.js';
import { Upstream, type UpstreamSettings } from '../http/upstream.js';
import {
  checkedLater,
  unchecked,
  type ImageProvider,
  type ProviderCallContext,
  type ProviderImageRequest,
  type ProviderImageResult,
  type ProviderPending,
} from '../image-provider.js';
import { ProviderError } from '../provider-error.js';
import type { Dialect, ModelOption } from './dialect.js';
import { cancelledJob, failedJob, lostJob, vendorError, withoutImage } from './failures.js';
import { orderFor, refuseMask, type Order } from './order.js';
import { Vendor, type StatusCheck } from './vendor.js';

/** Settings of a job vendor, with its dialect. */
export interface SubmitPollSettings extends UpstreamSettings {
  readonly name: string;
  readonly free: boolean;
  readonly interrupted: 'retry' | 'fail';
  readonly dialect: Dialect;
  /** Overrides the dialect's options of a model. */
  readonly accepts?: readonly ModelOption[] | undefined;
  /** Overrides the dialect's upload path. */
  readonly uploadUrl?: string | undefined;
}

type FinishedJob = Extract<StatusCheck, { kind: 'task' }>;

const DONE = /^(completed|succeeded|success)$/i;
const FAILED = /^(failed|failure|error)$/i;
const CANCELLED = /^cancell?ed$/i;

const SHORTEST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 15_000;
/** A new job may not be known to all of the vendor's servers yet. */
const UNKNOWN_AT_FIRST_MS = 60_000;
/** How long to retry the download of a finished image. */
const FETCH_PATIENCE_MS = 600_000;

/** A vendor whose images are submitted as jobs and polled until they are finished. */
export class SubmitPollProvider implements ImageProvider {
  readonly name: string;
  readonly free: boolean;
  readonly interrupted: 'retry' | 'fail';
  readonly longestCallMs: number;
  private readonly vendor: Vendor;

  constructor(
    private readonly settings: SubmitPollSettings,
    private readonly fetcher: ImageFetcher,
  ) {
    this.name = settings.name;
    this.free = settings.free;
    this.interrupted = settings.interrupted;
    this.longestCallMs = settings.totalTimeoutMs;
    this.vendor = new Vendor(new Upstream(settings), settings.dialect, settings.uploadUrl);
  }

  /** Submits a job, or checks it once. Throws ProviderError, or the signal's reason when aborted. */
  async generate(
    request: ProviderImageRequest,
    context: ProviderCallContext,
  ): Promise<ProviderImageResult | ProviderPending> {
    const accepts = this.settings.accepts ?? this.settings.dialect.accepts(request.model);
    const order = orderFor(request, this.settings.dialect, accepts);
    if (context.resumeJobId !== undefined) return this.poll(context.resumeJobId, request, order, context);
    refuseMask(request, accepts);
    await this.submit(request, order, context);
    return waiting(context.waitedMs, undefined);
  }

  private async submit(request: ProviderImageRequest, order: Order, context: ProviderCallContext): Promise<void> {
    const { signal } = context;
    signal.throwIfAborted();
    context.onProgress(1);
    const addresses: string[] = [];
    for (const [index, image] of request.images.entries()) {
      addresses.push(await this.vendor.upload(`image-${index}`, image, signal));
    }
    const mask = request.mask === undefined ? undefined : await this.vendor.upload('mask', request.mask, signal);
    const fields = {
      ...order.fields,
      ...(addresses.length === 0 ? {} : { image_urls: addresses }),
      ...(mask === undefined ? {} : { mask_url: mask }),
    };
    await context.onAccepted(await this.vendor.submit(fields, startKey(context), signal));
  }

  private async poll(
    jobId: string,
    request: ProviderImageRequest,
    order: Order,
    context: ProviderCallContext,
  ): Promise<ProviderImageResult | ProviderPending> {
    const { waitedMs, signal } = context;
    const found = await this.vendor.checkStatus(jobId, signal);
    if (found.kind === 'unanswered') return waiting(waitedMs, found.retryAfter);
    if (found.kind === 'refused') return unchecked(found.problem);
    if (found.kind === 'unknown') {
      if (waitedMs < UNKNOWN_AT_FIRST_MS) return waiting(waitedMs, undefined);
      throw lostJob(found.status);
    }
    const status = textAt(found.task, 'status') ?? '';
    if (FAILED.test(status)) throw failedJob(vendorError(found.task), found.providerMessage);
    if (CANCELLED.test(status)) throw cancelledJob();
    if (!DONE.test(status)) {
      // An undocumented status is treated as work in progress; the task's deadline limits it.
      context.onProgress(progressOf(found.task));
      return waiting(waitedMs, undefined);
    }
    const images = await this.imagesOf(found, request.n, context);
    if (images === undefined) return waiting(waitedMs, undefined);
    context.onProgress(100);
    const usage = tokenUsage(valueAt(found.task, 'usage'), valueAt(found.task, 'svg_usage'));
    return {
      images,
      ...(usage === undefined ? {} : { usage }),
      sentSize: order.size,
      warnings: order.warnings,
    };
  }

  /**
   * The images of a finished job; undefined if a download fails for now, because they are paid for and stay available
   * for a day.
   */
  private async imagesOf(
    { task, bytesOf }: FinishedJob,
    n: number,
    { signal, waitedMs }: ProviderCallContext,
  ): Promise<readonly Buffer[] | undefined> {
    const found = this.settings.dialect.images(task);
    const texts = found.filter((image): image is string => typeof image === 'string' && image !== '').slice(0, n);
    if (texts.length === 0) throw withoutImage(found[0] === '');
    const named = texts.map((text): NamedImage =>
      /^\s*https?:/i.test(text) ? { url: text } : { bytes: bytesOf(text) },
    );
    try {
      const until = untilPatienceEnds(this.settings.imagePatienceMs ?? 0);
      const images = await fetchImages({ fetcher: this.fetcher, baseUrl: this.settings.baseUrl, signal, until }, named);
      return images.length < named.length && waitedMs < FETCH_PATIENCE_MS ? undefined : images;
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      const isForbidden = error.cause instanceof AppError && error.cause.code === 'invalid_image_url';
      if (!isForbidden && waitedMs < FETCH_PATIENCE_MS) return undefined;
      throw new ProviderError(error.code, error.message, { retryable: false, charged: 'yes', cause: error.cause });
    }
  }
}

/**
 * Each start has its own key: for the same key, a vendor repeats its first response. A further start only follows one
 * that is known to have failed, or if the operator accepts paying twice.
 */
function startKey({ idempotencyKey, startNumber }: ProviderCallContext): string {
  return startNumber === 1 ? idempotencyKey : `${idempotencyKey}-${startNumber}`;
}

/** Waits a quarter of the time that has passed, so that the delay stays proportionate. */
function waiting(waitedMs: number, retryAfter: number | undefined): ProviderPending {
  const checkAfterMs = Math.min(Math.max(SHORTEST_WAIT_MS, Math.round(waitedMs / 4)), LONGEST_WAIT_MS);
  return checkedLater(checkAfterMs, retryAfter);
}

/** The last percent are for downloading the image. */
function progressOf(task: unknown): number {
  const progress = valueAt(task, 'progress');
  const percent =
    typeof progress === 'number' ? progress : Number.parseInt(typeof progress === 'string' ? progress : '', 10);
  return Number.isFinite(percent) ? Math.min(Math.max(1, percent), 95) : 1;
}
