import { setTimeout as wait } from 'node:timers/promises';
import type {
  ImageProvider,
  ProviderCallContext,
  ProviderImageRequest,
  ProviderImageResult,
  ProviderPending,
} from '../image-provider.js';
import { openImage, withImageSlot } from '#images/sharp.js';
import { warnExtra } from '../ignored-options.js';
import { ProviderError } from '../provider-error.js';
import { gridSize, textOfSize, type SizeGrid } from '../offered-size.js';
import { readDirectives, type Directives } from './directives.js';
import { simulateFault } from './faults.js';
import { drawPartial, drawImage, sizeOf, type DrawnImage } from './draw-image.js';
import { countUsage } from './usage.js';

/** How often progress is reported during the latency. */
const TICKS = 12;
/** How soon an unfinished job should be checked again. */
const CHECK_AFTER_MS = 500;
/** Progress in percent before the ticks. */
const DRAWN = 20;
const TICKED = 95;

/** Draws images itself: free, the same for the same request, and as slow or faulty as the prompt requests. */
export class SandboxProvider implements ImageProvider {
  readonly name = 'sandbox';
  readonly free = true;
  readonly interrupted = 'retry';

  /**
   * `obeyDirectives`: whether prompts may request latency and faults; directives are never drawn. `grid`: the sizes of
   * the model that it replaces; all sizes if there is none.
   */
  constructor(
    private readonly obeyDirectives = true,
    private readonly grid?: SizeGrid,
  ) {}

  /** Throws ProviderError for requested faults, or the signal's reason when aborted. */
  async generate(
    request: ProviderImageRequest,
    context: ProviderCallContext,
  ): Promise<ProviderImageResult | ProviderPending> {
    context.signal.throwIfAborted();
    const read = readDirectives(request.prompt);
    const directives = this.obeyDirectives ? read : { ...read, latency: 0, pending: 0, fault: undefined };
    // A job that is checked again is past the fault of its start.
    const turn = context.startNumber + (context.resumeJobId === undefined ? 0 : 1);
    const fault = turn <= directives.faultTimes ? directives.fault : undefined;
    context.onProgress(1);
    const rest = directives.pending - context.waitedMs;
    if (rest > 0) {
      if (context.resumeJobId === undefined) await context.onAccepted(`sandbox-${context.idempotencyKey}`);
      context.onProgress((100 * context.waitedMs) / directives.pending);
      return { pending: { checkAfterMs: Math.min(rest, CHECK_AFTER_MS) } };
    }
    if (fault !== undefined && fault !== 'wrong-size') {
      await passTime(directives, context, () => Promise.resolve());
      return simulateFault(fault, context);
    }
    // An edit's images come only with its start, and are not stored.
    const plain = { action: 'generation', images: [], mask: undefined } as const;
    const wanted = context.resumeJobId === undefined ? request : { ...request, ...plain };
    const order = this.onGrid(wanted);
    const answer = await this.draw(fault === undefined ? order : halved(order), directives, context);
    return order === wanted ? answer : { ...answer, sentSize: textOfSize(sizeOf(order)) };
  }

  private onGrid(request: ProviderImageRequest): ProviderImageRequest {
    const { width, height } = request;
    if (this.grid === undefined || width === undefined || height === undefined) return request;
    const size = gridSize({ width, height }, this.grid);
    return size.width === width && size.height === height ? request : { ...request, ...size };
  }

  private async draw(
    request: ProviderImageRequest,
    directives: Directives,
    context: ProviderCallContext,
  ): Promise<ProviderImageResult> {
    const draw = (variation: number): Promise<DrawnImage> =>
      drawImage(request, directives.prompt, context.signal, variation).catch(async (error: unknown) => {
        context.signal.throwIfAborted();
        await refuseUndecodable(request);
        throw error;
      });
    const first = await draw(0);
    const images = [first];
    while (images.length < request.n) {
      context.signal.throwIfAborted();
      images.push(await draw(images.length));
    }
    context.signal.throwIfAborted();
    context.onProgress(DRAWN);
    await passTime(directives, context, async (tick) => {
      const index = partialDueAt(tick, request.partialImages);
      if (index === undefined) return;
      const partial = await drawPartial(first.bytes, index, request.outputFormat);
      context.onPartial(partial, index, textOfSize(sizeOf(request)));
    });
    context.onProgress(100);
    const warnings = [...first.warnings];
    warnExtra(request, warnings);
    return {
      images: images.map(({ bytes }) => bytes),
      usage: countUsage(request, directives.prompt, first),
      warnings: [
        ...warnings,
        ...directives.unknown.map((text) => `The sandbox does not know the directive [[${text}]].`),
      ],
    };
  }
}

/** Like other providers, refuses images that can't be decoded, although their files are whole. Throws ProviderError. */
async function refuseUndecodable({ images, mask }: ProviderImageRequest): Promise<void> {
  for (const image of mask === undefined ? images : [...images, mask]) {
    try {
      await withImageSlot(() => openImage(image.bytes).stats(), image.width * image.height);
    } catch (cause) {
      throw new ProviderError('invalid_image_file', 'The provider could not use one of the images.', {
        retryable: false,
        charged: 'no',
        isAboutRequest: true,
        param: image === mask ? 'mask' : 'image',
        cause,
      });
    }
  }
}

async function passTime(
  { latency }: Directives,
  context: ProviderCallContext,
  atTick: (tick: number) => Promise<void>,
): Promise<void> {
  for (let tick = 1; tick <= TICKS; tick++) {
    if (latency > 0) await pause(latency / TICKS, context.signal);
    await atTick(tick);
    context.signal.throwIfAborted();
    context.onProgress(Math.round(DRAWN + ((TICKED - DRAWN) * tick) / TICKS));
  }
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await wait(milliseconds, undefined, { signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
}

/** Spreads partial images evenly over the ticks. */
function partialDueAt(tick: number, partialImages: number): number | undefined {
  for (let index = 0; index < partialImages; index++) {
    if (tick === Math.round(((index + 1) * TICKS) / (partialImages + 1))) return index;
  }
  return undefined;
}

function halved(request: ProviderImageRequest): ProviderImageRequest {
  const { width, height } = sizeOf(request);
  return { ...request, width: Math.ceil(width / 2), height: Math.ceil(height / 2) };
}
