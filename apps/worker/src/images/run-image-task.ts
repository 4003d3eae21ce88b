import { Injectable } from '@nestjs/common';
import { ClaimTask } from './claim-task.js';
import { DeliverPicture } from './deliver-picture.js';
import { KeepThumbnail, type KeptPicture } from './keep-thumbnail.js';
import { OrderPicture } from './order-picture.js';
import { SettleAttempt } from './settle-attempt.js';

/** One picture, from claim to bell: ordered from a provider, stored, and written down. */
@Injectable()
export class RunImageTask {
  constructor(
    private readonly claims: ClaimTask,
    private readonly orders: OrderPicture,
    private readonly pictures: DeliverPicture,
    private readonly settle: SettleAttempt,
    private readonly thumbnails: KeepThumbnail,
  ) {}

  /**
   * Leaves the task settled, given back, parked, or in other hands; false when it was not to be had in the first place.
   * Throws only when the database does not answer.
   */
  async run(taskId: string): Promise<boolean> {
    const attempt = await this.claims.claim(taskId);
    if (attempt === undefined) return false;
    let kept: KeptPicture | undefined;
    try {
      this.claims.refusePoison(attempt);
      const order = await this.orders.run(attempt);
      if ('pending' in order) await this.settle.park(attempt, order.pending.checkAfterMs);
      else kept = await this.pictures.deliver(attempt, order);
    } catch (error) {
      await this.settle.failed(attempt, error);
    } finally {
      attempt.held.release();
    }
    // Nobody waits any more, and the task has ended well whatever happens now.
    if (kept !== undefined) await this.thumbnails.keep(attempt.held, kept);
    return true;
  }
}
