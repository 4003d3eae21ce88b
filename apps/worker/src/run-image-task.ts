import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FinishedPicture } from '#images/finish-picture.js';
import { AppError } from '#contract/app-error.js';
import { resultKey } from '#storage/object-key.js';
import { StorageError, type ObjectStore } from '#storage/object-store.js';
import type { ClaimedTask } from '#tasks/task-moves.js';
import { adaptations, sizesOf } from './adaptations.js';
import { Attempt } from './attempt.js';
import { PictureNotStored } from './failure-verdict.js';
import type { KeepThumbnail, KeptPicture } from './keep-thumbnail.js';
import type { OrderedPicture, OrderPicture } from './order-picture.js';
import { putWithRetries } from './put-with-retries.js';
import type { TaskKeeper } from './task-keeper.js';

/** One picture, from claim to bell: ordered from a provider, stored, and written down. */
export class RunImageTask {
  private readonly owner = randomUUID();

  constructor(
    private readonly keeper: TaskKeeper,
    private readonly orders: OrderPicture,
    private readonly store: ObjectStore,
    /** Undefined: none are made. */
    private readonly thumbnails?: KeepThumbnail,
  ) {}

  /**
   * Leaves the task settled, given back, parked, or in other hands; false when it was not to be had in the first place.
   * Throws only when the database does not answer.
   */
  async run(taskId: string): Promise<boolean> {
    const claimed = await this.keeper.claim(taskId, this.owner);
    if (claimed === undefined) return false;
    const attempt = new Attempt(claimed, this.keeper.hold(claimed));
    let kept: KeptPicture | undefined;
    try {
      this.keeper.refusePoison(claimed);
      const order = await this.orders.run(attempt);
      if ('pending' in order) await this.keeper.park(attempt, order.pending.checkAfterMs);
      else kept = await this.deliver(attempt, order);
    } catch (error) {
      await this.keeper.settleFailure(attempt, error);
    } finally {
      attempt.held.release();
    }
    // Nobody waits any more, and the task has ended well whatever happens now.
    if (kept !== undefined) await this.thumbnails?.keep(attempt.held, kept);
    return true;
  }

  /** The picture, if it is the task's now. */
  private async deliver(attempt: Attempt, { made, picture }: OrderedPicture): Promise<KeptPicture | undefined> {
    const { claimed, held } = attempt;
    const warnings = [...made.warnings, ...adaptations(picture)];
    refuseAdapted(claimed, warnings);
    const key = resultKey(claimed.task.id, claimed.attempt, picture.format);
    await this.keeper.whileStoring(held, () => this.keep(key, picture, held.signal));
    const { contentType, width, height, sha256 } = picture;
    const sizes = sizesOf(claimed.task.options, made.sentSize, picture);
    const image = { key, contentType, width, height, bytes: picture.bytes.length, sha256, sizes };
    const won = await this.keeper.complete(attempt, made.provider, {
      images: [image],
      usage: made.usage,
      warnings,
    });
    if (won) return { ...picture, key };
    await this.store.delete(key);
    return undefined;
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
}

/** The picture was paid for, and still not what a strict caller may be given: no second one would be another. */
function refuseAdapted({ task }: ClaimedTask, warnings: readonly string[]): void {
  if (task.options.strict !== true || warnings.length === 0) return;
  throw new AppError(
    'upstream_invalid_response',
    `The request is strict, and the provider did not make exactly what it asks for: ${warnings.join(' ')}`,
  );
}
