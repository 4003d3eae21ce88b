import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Task } from '#tasks/task.js';
import { Draining } from '../common/draining.js';
import type { Accepted } from './accept-image.js';
import { WaitForTask } from './wait-for-task.js';

/** Holds a caller until its task has ended. */
@Injectable()
export class HeldCalls {
  constructor(
    private readonly wait: WaitForTask,
    private readonly draining: Draining,
  ) {}

  /**
   * The finished task; undefined after `waitMs`, when the caller is gone, or when the process stops.
   * The task goes on regardless.
   */
  async settled({ task, attached }: Accepted, reply: FastifyReply, waitMs: number): Promise<Task | undefined> {
    const call = new AbortController();
    const leave = (): void => {
      call.abort();
    };
    reply.raw.once('close', leave);
    this.draining.hold(call);
    try {
      return await this.wait.settled(task, waitMs, call.signal, attached);
    } finally {
      reply.raw.off('close', leave);
      // A kept connection would hold up the end of the process, and be cut when its caller uses it next.
      if (this.draining.started) reply.raw.shouldKeepAlive = false;
      this.draining.letGo(call);
    }
  }
}
