import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { PrismaService } from '#database/prisma.service.js';
import { ImageQueue } from '#queue/image-queue.js';
import { QueueHealth } from '#queue/queue-health.js';
import { Logger } from '#telemetry/logger.js';
import { TaskSlots } from '../admission/task-slots.js';
import { TaskStore } from '../reading/task-store.js';
import { DropInputs } from '../retention/drop-inputs.js';
import { approveTask, rejectTask, type ApprovedRow } from '../row/approval.sql.js';
import { taskError, type TaskScope, type TaskSummary } from '../row/task.js';
import { TaskEnds } from './task-ends.js';
import { TaskEvents } from './task-events.js';

/** Who decides about held tasks: a person, or with `originalKeyId` an API key, whose own requests are not its to decide. */
export interface Approver {
  readonly id: string;
  readonly originalKeyId?: string;
}

/** Decides about tasks that wait for their approval: of two decisions about one, the first counts. */
@Injectable()
export class ApproveTask {
  constructor(
    private readonly prisma: PrismaService,
    private readonly store: TaskStore,
    private readonly queue: ImageQueue,
    private readonly health: QueueHealth,
    private readonly slots: TaskSlots,
    private readonly events: TaskEvents,
    private readonly ends: TaskEnds,
    private readonly inputs: DropInputs,
    private readonly logger: Logger,
  ) {}

  /**
   * Lets the task take its place in the queue as if it had arrived now. Returns it as it is then; undefined when the scope
   * has no such task. Throws AppError `already_decided` when it is not held, or no longer, and `not_permitted` for a key's
   * own request. If Redis fails, the sweep enqueues it.
   */
  async approve(scope: TaskScope, id: string, approver: Approver): Promise<TaskSummary | undefined> {
    if (!(await this.mayDecide(scope, id, approver))) return undefined;
    const { accountId } = scope;
    const approved = await approveTask(this.prisma.pool, { id, accountId, by: approver.id });
    if (approved === undefined) return await this.notHeld(scope, id);
    this.logger.info('task.approved', { taskId: id, accountId });
    await this.enqueue(id, approved);
    this.events.publishChanged(id);
    return await this.store.find(scope, id);
  }

  /** Fails the task with `approval_rejected`, which refunds it. Returns and throws like `approve`. */
  async reject(scope: TaskScope, id: string, approver: Approver, reason?: string): Promise<TaskSummary | undefined> {
    if (!(await this.mayDecide(scope, id, approver))) return undefined;
    const { accountId } = scope;
    const error = new AppError('approval_rejected', `The request was not approved${reason ? `: ${reason}` : '.'}`);
    const rejected = await rejectTask(this.prisma.pool, { id, accountId, by: approver.id }, taskError(error), reason);
    if (rejected === undefined) return await this.notHeld(scope, id);
    this.ends.failed({ id, accountId, originalKeyId: rejected.originalKeyId }, true, error.code);
    this.logger.info('task.rejected', { taskId: id, accountId });
    void this.inputs.drop(id);
    return await this.store.find(scope, id);
  }

  private async mayDecide(scope: TaskScope, id: string, { originalKeyId }: Approver): Promise<boolean> {
    const { accountId } = scope;
    if (!(await this.store.within(scope, [id])).has(id)) return false;
    const task = await this.prisma.task.findUnique({ where: { id, accountId }, select: { apiKeyId: true } });
    if (task === null) return false;
    if (originalKeyId === undefined) return true;
    const key = await this.prisma.apiKey.findUnique({
      where: { id: task.apiKeyId },
      select: { originalKeyId: true },
    });
    if ((key?.originalKeyId ?? task.apiKeyId) === originalKeyId) {
      throw new AppError('not_permitted', 'An API key cannot decide about its own requests.', { taskId: id });
    }
    return true;
  }

  private async enqueue(taskId: string, { epoch, caller }: ApprovedRow): Promise<void> {
    try {
      await this.slots.recount(caller);
      await this.queue.add({ taskId, epoch, caller });
    } catch (error) {
      this.health.reportFailure();
      this.logger.warn('task.not_enqueued', { taskId, error });
    }
  }

  private async notHeld(scope: TaskScope, id: string): Promise<undefined> {
    const task = await this.store.find(scope, id);
    if (task === undefined) return undefined;
    const state = task.status === 'pending' ? 'approved' : task.status;
    throw new AppError('already_decided', `The task is not waiting for an approval: it is ${state}.`, { taskId: id });
  }
}
