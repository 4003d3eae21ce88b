import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { AppError } from '#contract/app-error.js';
import { finishPicture, type FinishedPicture } from '#images/finish-picture.js';
import { ImageError } from '#images/image-error.js';
import { MAX_PICTURE_BYTES } from '#images/limits.js';
import { sniffImageType } from '#images/sniff.js';
import { mayBuyAgain, type ImageProvider, type ProviderImageResult } from '#providers/image-provider.js';
import { ProviderError } from '#providers/provider-error.js';
import type { ProviderRegistry } from '#providers/registry.js';
import { resultKey } from '#storage/object-key.js';
import { StorageError, type ObjectStore } from '#storage/object-store.js';
import type { ClaimedTask } from '#tasks/task-moves.js';
import type { TaskPartials } from '#tasks/task-partials.js';
import { adaptations, sizesOf } from './adaptations.js';
import { PictureNotStored } from './failure-verdict.js';
import type { HeldTask } from './hold.js';
import type { LoadInputs, LoadedInputs } from './load-inputs.js';
import { readCapped, TooManyBytes } from './read-capped.js';
import { toProviderRequest } from './provider-request.js';
import { putWithRetries } from './put-with-retries.js';
import type { TaskKeeper } from './task-keeper.js';

/** One picture, from claim to bell: the only place that knows a provider, a pipeline and a store belong together. */
export class RunImageTask {
  private readonly owner = randomUUID();

  constructor(
    private readonly keeper: TaskKeeper,
    private readonly providers: ProviderRegistry,
    private readonly inputs: LoadInputs,
    private readonly store: ObjectStore,
    private readonly partials: TaskPartials,
  ) {}

  /** Leaves the task settled, given back, or in other hands. Throws only when the database does not answer. */
  async run(taskId: string): Promise<void> {
    const claimed = await this.keeper.claim(taskId, this.owner);
    if (claimed === undefined) return;
    const provider = this.providers.imageProvider(claimed.task.model);
    const held = this.keeper.hold(claimed);
    try {
      await this.attempt(claimed, held, provider);
    } catch (error) {
      await this.keeper.settleFailure(claimed, held, provider, error);
    } finally {
      held.release();
    }
  }

  private async attempt(claimed: ClaimedTask, held: HeldTask, provider: ImageProvider): Promise<void> {
    this.keeper.refusePoison(claimed);
    refuseSecondPurchase(claimed, provider);
    const inputs = await this.inputs.load(claimed, held.signal);
    const result = await this.buy(claimed, held, provider, inputs);
    const picture = await this.finish(claimed, held, result);
    const warnings = [...result.warnings, ...adaptations(picture)];
    refuseAdapted(claimed, warnings);
    const key = resultKey(claimed.task.id, claimed.attempt, picture.format);
    await this.keeper.whileStoring(held, () => this.keep(key, picture, held.signal));
    const { contentType, width, height, sha256 } = picture;
    const sizes = sizesOf(claimed.task.options, result.sentSize, picture);
    const image = { key, contentType, width, height, bytes: picture.bytes.length, sha256, sizes };
    const won = await this.keeper.complete(claimed, held, provider, {
      images: [image],
      usage: result.usage,
      warnings,
    });
    if (!won) await this.store.delete(key);
  }

  /** Counts the start, then calls. A provider that named its job in an earlier attempt is asked for that job again. */
  private async buy(
    claimed: ClaimedTask,
    held: HeldTask,
    provider: ImageProvider,
    inputs: LoadedInputs,
  ): Promise<ProviderImageResult & { readonly bytes: Buffer }> {
    if (claimed.providerJobId === null) await this.keeper.startProvider(claimed, held, provider);
    const progress = this.keeper.progress(held);
    const call = provider.generate(toProviderRequest(claimed, inputs), {
      signal: held.signal,
      idempotencyKey: claimed.task.id,
      resumeJobId: claimed.providerJobId ?? undefined,
      startNumber: claimed.providerStarts + 1,
      onAccepted: (providerJobId) => this.keeper.acceptedByProvider(held, providerJobId),
      onProgress: (percent) => {
        progress.provider(percent);
      },
      onPartial: (image, index) => {
        this.passOn(claimed, image, index);
      },
    });
    const result = await this.keeper.called(held, provider, call);
    const bytes = await readCapped(result.image, MAX_PICTURE_BYTES, held.signal).catch((error: unknown) => {
      throw error instanceof TooManyBytes ? unusable(error) : error;
    });
    return { ...result, bytes };
  }

  private async keep(key: string, picture: FinishedPicture, signal: AbortSignal): Promise<void> {
    try {
      await putWithRetries(this.store, key, () => Readable.from([picture.bytes]), picture.contentType, signal);
    } catch (error) {
      // The store may have taken it before it heard of the end; retention finds what stays after this.
      if (signal.aborted) await this.store.delete(key).catch(() => undefined);
      throw error instanceof StorageError ? new PictureNotStored('not stored', { cause: error }) : error;
    }
  }

  /** Nothing is published for a caller that asked for no partial pictures, whatever the provider sends. */
  private passOn({ task }: ClaimedTask, image: Buffer, index: number): void {
    if (index >= (task.options.partialImages ?? 0)) return;
    const format = sniffImageType(image);
    if (format !== undefined) this.partials.send(task.id, index, format, image);
  }

  private async finish(claimed: ClaimedTask, held: HeldTask, result: { bytes: Buffer }): Promise<FinishedPicture> {
    const { pixels, outputFormat, outputCompression, background } = claimed.task.options;
    const order = {
      target: pixels ?? undefined,
      format: outputFormat,
      compression: outputCompression ?? undefined,
      background: background ?? undefined,
    };
    return finishPicture(result.bytes, order, held.signal).catch((error: unknown) => {
      throw error instanceof ImageError ? unusable(error) : error;
    });
  }
}

/** An earlier attempt called the provider and never learned how that ended. */
function refuseSecondPurchase(claimed: ClaimedTask, provider: ImageProvider): void {
  if (!claimed.providerCallOpen || claimed.providerJobId !== null || mayBuyAgain(provider, 'maybe')) return;
  throw new AppError(
    'interrupted',
    'The worker was interrupted while the provider was making the picture. It is not known whether it was made, so it was not ordered a second time.',
  );
}

/** The picture was paid for, and still not what a strict caller may be given: no second one would be another. */
function refuseAdapted({ task }: ClaimedTask, warnings: readonly string[]): void {
  if (task.options.strict !== true || warnings.length === 0) return;
  throw new AppError(
    'upstream_invalid_response',
    `The request is strict, and the provider did not make exactly what it asks for: ${warnings.join(' ')}`,
  );
}

/** An answer without a usable picture is the provider's failure. */
function unusable(cause: Error): ProviderError {
  return new ProviderError('upstream_invalid_response', 'The provider did not answer with a usable picture.', {
    retryable: true,
    charged: 'no',
    cause,
  });
}
