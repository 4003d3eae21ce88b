import { Injectable } from '@nestjs/common';
import { lengthOf } from '#bytes/bytes.js';
import { AppError } from '#contract/app-error.js';
import { errorKind } from '#contract/error-codes.js';
import { requestedOptions } from '#contract/image-options.js';
import { pixelsFor } from '#contract/pixel-table.js';
import { ImageError } from '#images/image-error.js';
import { MAX_IMAGE_BYTES } from '#images/limits.js';
import { sniffImageType } from '#images/sniff.js';
import { whiteMask } from '#images/white-mask.js';
import type {
  ImageProvider,
  ProviderImageRequest,
  ProviderImageResult,
  ProviderPending,
} from '#providers/image-provider.js';
import { loadedFor } from '#providers/descriptors.js';
import { serverLabels } from '#providers/provider-entry.js';
import { ProviderError } from '#providers/provider-error.js';
import { imageJobId } from '#queue/job-catalog.js';
import type { CallOutcome, CallPermit, CallRejection } from '#routing/call-permit.js';
import { CallCounter, type EndedCall } from '#routing/call-counter.js';
import { ProviderLimiter } from '#routing/provider-limiter.js';
import type { Candidate } from '#routing/route-plan.js';
import { TaskPartials } from '#tasks/states/task-partials.js';
import type { ClaimedTask } from '#tasks/states/task-transitions.js';
import { inSpan, traceparentForProvider, type OpenSpan } from '#telemetry/spans.js';
import { ProviderRegistry } from '../providers/provider-registry.js';
import { successOf, type Attempt } from './attempt.js';
import { deadlinePassed, unusable, withoutPrompt } from './failure-verdict.js';
import { DeadlinePassed, LeaseLost } from './leases.js';
import type { LoadedInputs } from './load-inputs.js';
import { ProviderStarts } from './provider-starts.js';
import { TaskMeter } from './task-meter.js';
import { TaskProgress } from './task-progress.js';

/** A parked call keeps its slot this much longer than its wait, to cover the time back in the queue. */
const PARK_MARGIN_MS = 10_000;

/** HTTP status of a request that is too large. */
const TOO_LARGE = 413;

/** A provider's result, with the bytes of each image in memory. */
export type CallResult = Omit<ProviderImageResult, 'images'> & {
  readonly files: Buffer[];
  readonly provider: Candidate['provider'];
};

/** A permit for one of the candidates. */
export type PermittedCall = CallPermit & { readonly option: Candidate };

/** One provider call and its inputs. */
export interface OrderedCall {
  readonly permit: PermittedCall;
  readonly inputs: LoadedInputs;
  /**
   * An earlier attempt received a job id from the provider, so this call fetches that job instead of ordering a new
   * one.
   */
  readonly resume: boolean;
}

/** A call whose inputs are as its provider expects them. */
type PreparedCall = OrderedCall & { readonly adapter: ImageProvider };

/** Makes one provider call, if the limiter permits it now: counts the start first, and reads the whole result. */
@Injectable()
export class CallProvider {
  constructor(
    private readonly providerStarts: ProviderStarts,
    private readonly progress: TaskProgress,
    private readonly providers: ProviderRegistry,
    private readonly limiter: ProviderLimiter,
    private readonly partials: TaskPartials,
    private readonly meter: TaskMeter,
    private readonly calls: CallCounter,
  ) {}

  /** A permit for one of the candidates, which are equal but for server and key; or the limiter's rejection. */
  async permit(
    { claimed }: Attempt,
    candidates: readonly Candidate[],
    resume: boolean,
  ): Promise<PermittedCall | CallRejection> {
    const { id, options } = claimed.task;
    const { caller, nextEpoch, remainingMs, claimedAt } = claimed;
    const [first] = candidates;
    return this.limiter.enter(candidates, id, {
      resume,
      isTest: options.onlyProvider !== undefined && options.onlyProvider === first?.provider.name,
      caller,
      jobId: imageJobId(id, nextEpoch),
      remainingMs: remainingMs - (performance.now() - claimedAt),
      ...(first && { needs: loadedFor(first.provider, first.model, claimed.inputs.length > 0) }),
    });
  }

  /** Makes the permitted call, and ends its permit. Throws whatever `generate` and `ProviderStarts.start` throw. */
  async call(attempt: Attempt, order: OrderedCall): Promise<CallResult | ProviderPending> {
    const { permit } = order;
    const { provider, key } = permit.option;
    try {
      const adapter = this.providers.imageProvider(provider, key);
      const inputs = await inMaskForm(adapter, order, attempt);
      if (!order.resume) await this.providerStarts.start(attempt, permit.option);
      const call = { ...order, adapter, inputs };
      const answer = await inSpan(callSpan(attempt, order), (span) => this.ask(attempt, call, span));
      if ('pending' in answer) this.park(attempt, permit, answer);
      else permit.end('succeeded');
      return answer;
    } catch (error) {
      permit.end(...(attempt.lease.signal.aborted ? NEUTRAL : this.reportOn(error, provider)));
      throw error;
    }
  }

  /** Counts the last call, which ended with this error, or returned usable images. Does nothing when none was made. */
  ended(attempt: Attempt, { provider: server, model }: Candidate, error?: unknown): void {
    const { call } = attempt;
    if (call?.tookMs === undefined) return;
    this.calls.ended({ server, model, ms: call.tookMs, ...endingOf(attempt, error) });
    call.tookMs = undefined;
  }

  private park(attempt: Attempt, permit: PermittedCall, { pending }: ProviderPending): void {
    const { checkAfterMs, problem } = pending;
    const report = problem === undefined ? NEUTRAL : this.reportOn(problem, permit.option.provider);
    permit.park(checkAfterMs + PARK_MARGIN_MS, ...report);
    if (problem !== undefined) this.providerStarts.jobNotChecked(attempt, problem);
  }

  /**
   * What a failure says about the server. A request that it rejected says nothing about a provider's only server, whatever
   * its reason; of several, one that lacks a model would otherwise get all calls, because it is always free.
   */
  private reportOn(error: unknown, { name }: Candidate['provider']): Report {
    if (!(error instanceof ProviderError)) return NEUTRAL;
    if (error.isAboutRequest) {
      const servers = this.providers.catalog.providers.get(name)?.servers ?? [];
      return servers.length > 1 && mayBeTheServer(error) ? ['failed'] : NEUTRAL;
    }
    const { keyRefused, retryAfter } = error;
    if (keyRefused) return retryAfter === undefined ? ['key_refused'] : ['key_refused', retryAfter * 1_000];
    return isOfTheProvider(error) ? ['failed'] : NEUTRAL;
  }

  private async ask(attempt: Attempt, order: PreparedCall, span: OpenSpan): Promise<CallResult | ProviderPending> {
    const { claimed, lease } = attempt;
    const { permit, adapter, inputs } = order;
    const { provider } = permit.option;
    const progress = this.progress.writer(lease, order.resume);
    const began = performance.now();
    const call = adapter.generate(toProviderRequest(claimed, permit.option, inputs), {
      signal: lease.signal,
      idempotencyKey: claimed.task.id,
      resumeJobId: attempt.call?.providerJobId,
      startNumber: attempt.starts,
      traceparent: traceparentForProvider(span),
      waitedMs: order.resume ? claimed.waitedMs : 0,
      onAccepted: (providerJobId) => this.providerStarts.accepted(attempt, providerJobId, inputs.adapted),
      onProgress: (percent) => progress.provider(percent),
      onPartial: (image, index, size) => this.passOn(claimed, image, index, size),
    });
    const answer = await this.meter.call(provider, call, lease.signal).finally(() => {
      const before = order.resume ? claimed.waitedMs : 0;
      if (attempt.call !== undefined) attempt.call.tookMs = before + performance.now() - began;
    });
    if ('pending' in answer) {
      span.set({ outcome: 'pending', delayMs: answer.pending.checkAfterMs });
      if (attempt.call?.providerJobId === undefined) throw new Error(`${provider.name} works on a job without a name`);
      return answer;
    }
    const { images, ...result } = answer;
    const files = usable(images, attempt);
    span.set({ outcome: 'succeeded', images: files.length, bytes: lengthOf(files) });
    if (attempt.call !== undefined) attempt.call.end = successOf(provider.free);
    return { ...result, warnings: [...inputs.adapted, ...result.warnings], provider, files };
  }

  /** Publishes a partial image, unless the caller asked for fewer than the provider sends. */
  private passOn({ task }: ClaimedTask, image: Buffer, index: number, size: string | undefined): void {
    if (index >= (task.options.partialImages ?? 0)) return;
    const format = sniffImageType(image);
    if (format !== undefined) this.partials.send(task.id, { index, format, size }, image);
  }
}

/** How the last call ended, and why, if the provider is at fault. */
function endingOf(
  { call, claimed, lease: { signal } }: Attempt,
  error: unknown,
): Pick<EndedCall, 'ending' | 'failure'> {
  if (error instanceof ProviderError && !signal.aborted) {
    if (!isOfTheProvider(error)) return { ending: 'rejected' };
    const { code, status, message, providerMessage: said } = error;
    // Operators see it beside other accounts' calls.
    const providerMessage = said && withoutPrompt(said, claimed.prompt);
    return { ending: FAULTS[error.trouble ?? 'other'], failure: { code, status, message, providerMessage } };
  }
  // What follows a successful call may fail for reasons of our own.
  if (error === undefined || call?.end?.outcome === 'succeeded') return { ending: 'succeeded' };
  if (signal.reason instanceof DeadlinePassed) {
    const { code, message } = deadlinePassed();
    return { ending: 'timed_out', failure: { code, message } };
  }
  if (signal.aborted || error instanceof LeaseLost) return { ending: 'canceled' };
  return { ending: 'failed', failure: { code: 'internal_error' } };
}

const FAULTS = { limited: 'rate_limited', late: 'timed_out', other: 'failed' } as const;

/** The span of a call. */
function callSpan({ claimed, starts }: Attempt, { permit, resume: resumed }: OrderedCall) {
  const { provider, model } = permit.option;
  const fields = { ...serverLabels(provider), model, start: starts, resumed };
  return { name: 'provider.call', kind: 'client', parent: claimed.task.id, fields } as const;
}

/**
 * Converts the mask to the form that the provider expects; a resumed job already has it. Throws AppError `invalid_mask`
 * for one that can't be decoded.
 */
async function inMaskForm(
  { maskForm }: ImageProvider,
  { inputs, resume }: OrderedCall,
  { claimed }: Attempt,
): Promise<LoadedInputs> {
  if (inputs.mask === undefined || maskForm !== 'white' || resume) return inputs;
  const mask = await whiteMask(inputs.mask).catch((error: unknown) => {
    if (!(error instanceof ImageError)) throw error;
    const param = claimed.mask?.param ?? 'mask';
    throw new AppError('invalid_mask', error.message.replace('The image', 'The mask'), { param, cause: error });
  });
  return { ...inputs, mask };
}

/** Translates a task into the request that every adapter takes. */
function toProviderRequest(claimed: ClaimedTask, candidate: Candidate, inputs: LoadedInputs): ProviderImageRequest {
  const { action, options } = claimed.task;
  return {
    action,
    model: candidate.model,
    sizes: candidate.sizes,
    prompt: claimed.prompt,
    n: options.n ?? 1,
    width: options.pixels?.width,
    height: options.pixels?.height,
    squareEdge: options.resolution === null ? undefined : pixelsFor('1:1', options.resolution)?.width,
    images: inputs.images,
    mask: inputs.mask,
    markup: inputs.markup,
    ...requestedOptions(options),
    partialImages: options.partialImages ?? 0,
  };
}

/** At most as many images as the caller requested, without those that are too large. */
function usable(images: readonly Buffer[], { claimed }: Attempt): Buffer[] {
  const wanted = images.slice(0, claimed.task.options.n ?? 1);
  const files = wanted.filter(({ length }) => length <= MAX_IMAGE_BYTES);
  if (files.length > 0) return files;
  throw unusable(new Error(wanted.length > 0 ? 'the image is too large' : 'a response without an image'));
}

/** What the limiter, which all processes share, is told of a call. */
type Report = readonly [outcome: CallOutcome, retryAfterMs?: number];

const NEUTRAL: Report = ['neutral'];

/**
 * Whether the failure is the provider's, so that another provider may succeed; the caller's errors have a 4xx status.
 */
export function isOfTheProvider({ code }: ProviderError): boolean {
  return errorKind(code).status >= 500;
}

/**
 * Whether equal servers may accept the request that one of them rejected: the rejection is final and names nothing that
 * the caller sent, so it may be due to a model or deployment that only this server lacks. Every server has the same limit
 * on a request's size.
 */
export function mayBeTheServer(error: ProviderError): boolean {
  return error.isAboutRequest && !error.retryable && isOfTheProvider(error) && error.status !== TOO_LARGE;
}
