import { Injectable } from '@nestjs/common';
import { withImageTurnsOf } from '#images/sharp.js';
import { ClaimTask } from './claim-task.js';
import { DeliverImage } from './deliver-image.js';
import { KeepThumbnail, type Thumbnail } from './keep-thumbnail.js';
import { OrderImage } from './order-image.js';
import { SettleAttempt } from './settle-attempt.js';

/** Runs a task from claim to event: its images are generated, stored, and saved. */
@Injectable()
export class RunImageTask {
  constructor(
    private readonly claims: ClaimTask,
    private readonly orders: OrderImage,
    private readonly images: DeliverImage,
    private readonly settle: SettleAttempt,
    private readonly thumbnails: KeepThumbnail,
  ) {}

  /**
   * When it returns, the task is settled, released, parked, or claimed by another worker; false when it could not be
   * claimed at all. Throws only when the database does not answer. `queuedAt` as in ClaimTask.
   */
  async run(taskId: string, queuedAt?: number): Promise<boolean> {
    const attempt = await this.claims.claim(taskId, queuedAt);
    if (attempt === undefined) return false;
    let late: Thumbnail | undefined;
    try {
      const owner = { source: attempt.claimed.task.accountId, ticket: taskId };
      const order = await withImageTurnsOf(owner, () => this.orders.run(attempt));
      if ('pending' in order) await this.settle.park(attempt, order.pending.checkAfterMs);
      else late = await this.images.deliver(attempt, order);
    } catch (error) {
      await this.settle.failed(attempt, error);
    } finally {
      attempt.lease.release();
      attempt.span.end();
    }
    // The task is complete and no caller is waiting, so a failure here changes nothing.
    if (late !== undefined) await this.thumbnails.recordLate(attempt.lease, late);
    return true;
  }
}
