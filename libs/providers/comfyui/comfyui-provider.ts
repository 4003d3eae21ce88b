import {
  isShutdownAbort,
  unchecked,
  type ImageProvider,
  type ProviderCallContext,
  type ProviderImageRequest,
  type ProviderImageResult,
  type ProviderPending,
} from '../image-provider.js';
import { NO_PARTIALS } from '../ignored-options.js';
import { ProviderError } from '../provider-error.js';
import { InterruptibleWait } from './interruptible-wait.js';
import { clearMask } from './clear-mask.js';
import type { ComfyApi, JobState } from './comfy-api.js';
import { endedJob, failedJob, lostJob, withoutImage, withoutJob, WorkflowRefused } from './failures.js';
import { orderFor, type Order, type Workflows } from './order.js';
import { seedOf, type UploadedImage } from './workflow.js';

/** A ComfyUI server and its workflows. */
export interface ComfyUiSettings {
  readonly name: string;
  readonly free: boolean;
  readonly interrupted: 'retry' | 'fail';
  readonly longestCallMs: number;
  readonly workflows: Workflows;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
/** After so many ms in which no status check succeeds, and two failed, the server counts as unavailable. */
const AWAY_MS = 7_000;
/** The same if a second job costs nothing: longer than loading a model blocks the server. */
const AWAY_FREE_MS = 20_000;
const VIEWS = 3;

/** The state of a job, or why the server did not tell it. */
type Polled = JobState | { readonly kind: 'unchecked'; readonly problem: ProviderError };

/** What happens while a job runs. */
interface Watch {
  /** Ended when the job may have. */
  readonly pause: InterruptibleWait;
  /** Told how much is done, 0..1. */
  readonly onPart: (part: number) => void;
}

/** A ComfyUI server, with a workflow for generations and optionally one for edits. */
export class ComfyUiProvider implements ImageProvider {
  readonly name: string;
  readonly free: boolean;
  readonly interrupted: 'retry' | 'fail';
  readonly longestCallMs: number;

  constructor(
    private readonly server: ComfyApi,
    private readonly settings: ComfyUiSettings,
  ) {
    this.name = settings.name;
    this.free = settings.free;
    this.interrupted = settings.interrupted;
    this.longestCallMs = settings.longestCallMs;
  }

  /** Throws ProviderError, or the signal's reason when aborted. Pending while the server is unavailable. */
  async generate(
    request: ProviderImageRequest,
    context: ProviderCallContext,
  ): Promise<ProviderImageResult | ProviderPending> {
    context.signal.throwIfAborted();
    const order = orderFor(request, this.settings.workflows);
    const pause = new InterruptibleWait();
    const partials = { wanted: request.partialImages, sent: 0, part: 0 };
    const onPart = (part: number): void => {
      // Each sampler of a workflow restarts its progress at 0.
      partials.part = Math.max(partials.part, part);
      context.onProgress(5 + 85 * partials.part);
    };
    const events = await this.server.listen(context.idempotencyKey, {
      onProgress: (_jobId, part) => onPart(part),
      onPreview: (image) => {
        // There is a preview after each step, so spread the partial images over the generation.
        if (partials.sent >= partials.wanted || partials.part < (partials.sent + 1) / (partials.wanted + 1)) return;
        context.onPartial(image, partials.sent);
        partials.sent += 1;
      },
      onEnd: () => pause.interrupt(),
    });
    try {
      const jobId = context.resumeJobId ?? (await this.begin(request, order, context));
      const image = await this.imageOf(jobId, order, { pause, onPart }, context);
      if ('pending' in image) return image;
      context.onProgress(100);
      const missed = partials.wanted > 0 && partials.sent === 0 ? [NO_PARTIALS] : [];
      return { images: [image], sentSize: order.size, warnings: [...order.warnings, ...missed] };
    } finally {
      events.close();
    }
  }

  private async begin(
    request: ProviderImageRequest,
    order: Order,
    { signal, idempotencyKey, onAccepted, onProgress }: ProviderCallContext,
  ): Promise<string> {
    onProgress(1);
    const images: UploadedImage[] = [];
    for (const image of request.images) images.push(await this.server.upload(image, signal));
    // A workflow with a slot for a mask needs a mask.
    const [first] = request.images;
    const imageMask =
      request.mask ?? (order.workflow.takesMask && first !== undefined ? await clearMask(first) : undefined);
    const mask = imageMask === undefined ? undefined : await this.server.upload(imageMask, signal);
    const values = { ...order, prompt: request.prompt, seed: seedOf(idempotencyKey), images, mask };
    const jobId = await this.server
      .submit(order.workflow.filled(values), idempotencyKey, signal)
      .catch((error: unknown) => {
        if (error instanceof WorkflowRefused) throw ofTheCaller(error, order) ?? error;
        throw isUnreadable(error) ? withoutJob(this.free, error.cause) : error;
      });
    try {
      await onAccepted(jobId);
    } catch (error) {
      // Nobody would use its result.
      await this.server.cancel(jobId);
      throw error;
    }
    return jobId;
  }

  private async imageOf(
    jobId: string,
    order: Order,
    watch: Watch,
    context: ProviderCallContext,
  ): Promise<Buffer | ProviderPending> {
    const { signal } = context;
    try {
      const images = await this.finished(jobId, order, watch, context);
      if ('pending' in images) return images;
      const [image] = images;
      if (image === undefined) throw withoutImage();
      return await this.view(image, signal);
    } catch (error) {
      if (signal.aborted && !isShutdownAbort(signal.reason)) await this.server.cancel(jobId);
      throw error;
    }
  }

  private async finished(
    jobId: string,
    order: Order,
    { pause, onPart }: Watch,
    { signal }: ProviderCallContext,
  ): Promise<readonly string[] | ProviderPending> {
    let pauses = 0;
    let failures = 0;
    let checkedAt = performance.now();
    for (;;) {
      const state = await this.poll(jobId, order, signal);
      if (state.kind === 'finished') return state.images;
      if (state.kind === 'failed') throw failedJob(state, endedJob(this.free));
      if (state.kind === 'gone') throw lostJob(endedJob(this.free));
      if (state.kind === 'unchecked') {
        if (!state.problem.retryable) return unchecked(state.problem);
        failures += 1;
        const isAway = failures > 1 && performance.now() - checkedAt >= (this.free ? AWAY_FREE_MS : AWAY_MS);
        // Another route, or another job, may bring the image sooner than a server that may never come back.
        if (isAway && this.free) throw state.problem;
        if (isAway) return unchecked(state.problem);
      } else {
        if (state.kind === 'running' && state.part !== undefined) onPart(state.part);
        failures = 0;
        checkedAt = performance.now();
      }
      // The event of a job's end arrives shortly before the history contains it.
      const interrupted = await pause.wait(Math.min(FIRST_PAUSE_MS * 2 ** pauses, LONGEST_PAUSE_MS), signal);
      pauses = interrupted ? 0 : pauses + 1;
    }
  }

  private async poll(jobId: string, { workflow }: Order, signal: AbortSignal): Promise<Polled> {
    try {
      return await this.server.jobState(jobId, workflow.output, signal);
    } catch (problem) {
      if (problem instanceof ProviderError) return { kind: 'unchecked', problem };
      throw problem;
    }
  }

  private async view(path: string, signal: AbortSignal): Promise<Buffer | ProviderPending> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.server.image(path, signal);
      } catch (error) {
        // An image that is too large stays so.
        if (!(error instanceof ProviderError) || isUnreadable(error)) throw error;
        if (tries === VIEWS) return unchecked(error);
      }
    }
  }
}

/** The error for the caller, if the server found fault with nothing but one of its extra fields. */
function ofTheCaller(error: WorkflowRefused, { workflow, extra }: Order): ProviderError | undefined {
  const fields = error.faults.map(({ node, input }) => workflow.extraAt(node, input));
  const [field] = fields;
  const isAsked = field !== undefined && Object.hasOwn(extra, field) && fields.every((one) => one === field);
  return isAsked ? error.about(field) : undefined;
}

function isUnreadable(error: unknown): error is ProviderError {
  return error instanceof ProviderError && error.code === 'upstream_invalid_response';
}
