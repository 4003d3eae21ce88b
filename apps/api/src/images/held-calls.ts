import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { AppError } from '#contract/app-error.js';
import type { Task } from '#tasks/task.js';
import { TasksConfig } from '#tasks/tasks.config.js';
import { Draining } from '../common/draining.js';
import type { Accepted } from './accept-image.js';
import { stillRunning } from './answer-parts.js';
import { DeliveryMarks } from './delivery-marks.js';
import { retryCount } from './request-mark.js';
import { WaitForTask } from './wait-for-task.js';

/** Milliseconds after which a client should ask again for an image that still runs. */
const RETRY_MS = '250';

/** Holds a caller until its task has ended. */
@Injectable()
export class HeldCalls {
  constructor(
    private readonly wait: WaitForTask,
    private readonly draining: Draining,
    private readonly marks: DeliveryMarks,
    private readonly config: TasksConfig,
  ) {}

  /**
   * The finished task; undefined after `waitMs`, when the caller is gone, or when the process stops.
   * The task goes on regardless, and an equal request may have it then; not so when the caller is answered with its id
   * after `waitMs` (`getsId`).
   */
  async settled(accepted: Accepted, reply: FastifyReply, waitMs: number, getsId = false): Promise<Task | undefined> {
    const settled = await this.held(accepted, reply, waitMs);
    const { task, mark } = accepted;
    const leaves = reply.raw.destroyed || (settled === undefined && !getsId);
    if (leaves && mark.kind === 'attempt') await this.marks.abandoned(reply, task.id);
    return settled;
  }

  /**
   * What a caller gets whose window has ended: its next equal request waits for the same task, so it should try again. Older
   * SDKs of OpenAI obey the header without counting their tries.
   */
  notYet(reply: FastifyReply, task: Task): AppError {
    const findsItsTask = retryCount(reply.request.headers) !== undefined || this.config.attachWindowMs > 0;
    void reply.header('x-should-retry', String(findsItsTask));
    if (findsItsTask) void reply.header('retry-after-ms', RETRY_MS);
    return stillRunning(task.id);
  }

  private async held({ task, attached }: Accepted, reply: FastifyReply, waitMs: number): Promise<Task | undefined> {
    const call = new AbortController();
    const leave = (): void => {
      call.abort();
    };
    reply.raw.once('close', leave);
    if (reply.raw.destroyed) leave();
    this.draining.hold(call);
    try {
      return await this.wait.settled(task, waitMs, call.signal, attached);
    } finally {
      reply.raw.off('close', leave);
      // A kept connection would hold up the end of the process, and be cut when its caller uses it next.
      if (this.draining.started) reply.raw.shouldKeepAlive = false;
      this.draining.releaseTask(call);
    }
  }
}
