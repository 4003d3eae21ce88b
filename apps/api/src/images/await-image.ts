import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { isDeleted, taskDeleted, type TaskSummary } from '#tasks/row/task.js';
import { AccessWatch } from '../common/access-watch.js';
import { OpenCalls } from '../common/open-calls.js';
import { Draining } from '../common/draining.js';
import type { Accepted } from './accept-image.js';
import { DeliveryMarks } from './delivery-marks.js';
import { WaitForTask } from './wait-for-task.js';

/** Holds a call until its task has ended. */
@Injectable()
export class AwaitImage {
  constructor(
    private readonly wait: WaitForTask,
    private readonly draining: Draining,
    private readonly access: AccessWatch,
    private readonly marks: DeliveryMarks,
    private readonly openCalls: OpenCalls,
  ) {}

  /**
   * Returns the finished task; undefined after `waitMs`, when the caller disconnects, or during shutdown. The task
   * continues, and an equal request may then get it, unless the caller receives its id after `waitMs` (`getsId`).
   * Throws when the task can't be read, the AppError of a caller who may no longer have it, and `task_deleted`.
   */
  async settled(
    accepted: Accepted,
    reply: FastifyReply,
    waitMs: number,
    getsId = false,
  ): Promise<TaskSummary | undefined> {
    try {
      const settled = await this.held(accepted, reply, waitMs);
      // What is written to a caller who has closed the connection would count as delivered.
      if (settled !== undefined) await this.openCalls.catchUp();
      const leaves = reply.raw.destroyed || (settled === undefined && !getsId);
      if (leaves) await this.marks.markUndelivered(reply, accepted);
      return settled;
    } catch (error) {
      await this.marks.markUndelivered(reply, accepted);
      throw error;
    }
  }

  private async held(
    { task, attached }: Accepted,
    reply: FastifyReply,
    waitMs: number,
  ): Promise<TaskSummary | undefined> {
    const call = new AbortController();
    const leave = (): void => {
      call.abort();
    };
    reply.raw.once('close', leave);
    if (reply.raw.destroyed) leave();
    this.draining.hold(call);
    const endAccess = this.access.watch(reply.request, call);
    try {
      const settled = await this.wait.settled(task, waitMs, call.signal, attached);
      if (call.signal.reason instanceof AppError) throw call.signal.reason;
      if (settled !== undefined && isDeleted(settled)) throw taskDeleted(settled.id);
      return settled;
    } finally {
      endAccess();
      reply.raw.off('close', leave);
      // A keep-alive connection would delay the end of the process, and break at the caller's next request.
      if (this.draining.started) reply.raw.shouldKeepAlive = false;
      this.draining.release(call);
    }
  }
}
