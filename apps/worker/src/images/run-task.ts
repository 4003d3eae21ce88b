import { Injectable } from '@nestjs/common';
import { endUserBlocked } from '#accounts/end-user-states.js';
import { withImageTurnsOf } from '#images/sharp.js';
import { TaskEvents } from '#tasks/states/task-events.js';
import { Logger } from '#telemetry/logger.js';
import { Attempt, attemptSpan, identity, successOf } from './attempt.js';
import { LeaveTask } from './leave-task.js';
import { Leases } from './leases.js';
import { OrderImage, type OrderedImages } from './order-image.js';
import { ProviderStarts } from './provider-starts.js';
import { SettleAttempt } from './settle-attempt.js';
import { StoreResults } from './store-results.js';
import { TaskMeter } from './task-meter.js';

/** Runs a task from claim to event: its images are generated, stored, and saved. */
@Injectable()
export class RunTask {
  constructor(
    private readonly leases: Leases,
    private readonly providerStarts: ProviderStarts,
    private readonly orderImage: OrderImage,
    private readonly storeResults: StoreResults,
    private readonly settle: SettleAttempt,
    private readonly leaveTask: LeaveTask,
    private readonly events: TaskEvents,
    private readonly meter: TaskMeter,
    private readonly logger: Logger,
  ) {}

  /**
   * When it returns, the task is settled, released, parked, or claimed by another worker; false when it could not be
   * claimed at all. Throws only when the database does not answer. `queuedAt`: when its job was added, in ms since the
   * epoch, if known.
   */
  async run(taskId: string, queuedAt?: number): Promise<boolean> {
    const attempt = await this.claim(taskId, queuedAt);
    if (attempt === undefined) return false;
    try {
      if (!(await this.generate(attempt))) await this.leaveTask.leave(attempt);
    } finally {
      attempt.lease.release();
      attempt.span.end();
    }
    return true;
  }

  /** Undefined when the task could not be claimed. Throws when the database does not answer. */
  private async claim(taskId: string, queuedAt?: number): Promise<Attempt | undefined> {
    const claimed = await this.leases.claim(taskId, this.providerStarts.firstCalls());
    if (claimed === undefined) {
      this.logger.debug('task.not_claimed', { taskId });
      return undefined;
    }
    const span = attemptSpan(claimed, queuedAt);
    this.events.publishChanged(taskId);
    this.meter.claimed(claimed);
    this.logger.info('task.claimed', { ...identity(claimed), attempt: claimed.attempt });
    return new Attempt(claimed, this.leases.keep(claimed), span);
  }

  /** False when this worker no longer holds the task: it has ended in another way, or another worker has claimed it. */
  private async generate(attempt: Attempt): Promise<boolean> {
    try {
      const { claimed } = attempt;
      // What a provider works on already is paid, so it is still fetched.
      if (claimed.endUserBlocked && !claimed.providerCallOpen) throw endUserBlocked();
      const { id, accountId } = claimed.task;
      const owner = { source: accountId, ticket: id };
      const order = await withImageTurnsOf(owner, () => this.orderImage.run(attempt));
      if ('pending' in order) return await this.settle.parked(attempt, order.pending.checkAfterMs);
      return await this.deliver(attempt, order);
    } catch (error) {
      return await this.settle.failed(attempt, error);
    }
  }

  /**
   * Completes the task with its stored images. When the task had already ended, the stored objects are deleted, and it
   * returns false. Throws ImageNotStored.
   */
  private async deliver(attempt: Attempt, { result, stored, storingMs }: OrderedImages): Promise<boolean> {
    const { images, warnings } = stored;
    const contents = { images, usage: result.usage, warnings };
    if (!(await this.settle.completed(attempt, contents, successOf(result.provider.free, storingMs)))) {
      await this.storeResults.delete(stored);
      return false;
    }
    this.meter.completed(attempt.claimed, result.provider.name, images.length);
    return true;
  }
}
