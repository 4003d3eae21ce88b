import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TaskStore } from '#tasks/task-store.js';
import { Logger } from '#telemetry/logger.js';

/** A connection that breaks so soon after its answer has most likely lost it on the way. */
const TICK_MS = 1_000;

interface Written {
  readonly taskId: string;
  readonly socket: FastifyRequest['raw']['socket'];
}

/**
 * Marks tasks whose outcome was written to their caller, so that a later identical request is a new one.
 * One statement for all of a moment, off every request's path. A mark that is lost does no harm: an SDK that comes
 * back within 15 minutes would get the same image once more.
 */
@Injectable()
export class DeliveryMarks implements OnApplicationShutdown {
  private fresh: Written[] = [];
  private settled: Written[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly tasks: TaskStore,
    private readonly logger: Logger,
  ) {}

  /** Marks the task once the reply, which carries its outcome, is written to its last byte. */
  watch(request: FastifyRequest, reply: FastifyReply, taskId: string): void {
    const { socket } = request.raw;
    reply.raw.once('finish', () => {
      this.fresh.push({ taskId, socket });
      this.timer ??= setInterval(() => void this.tick(), TICK_MS).unref();
    });
  }

  /** Marks what is left. */
  async onApplicationShutdown(): Promise<void> {
    await this.tick();
    await this.tick();
  }

  /** Each waits one tick: a connection that is reset meanwhile has lost what was written to it. */
  private async tick(): Promise<void> {
    const due = this.settled.filter(({ socket }) => socket.errored === null).map(({ taskId }) => taskId);
    this.settled = this.fresh;
    this.fresh = [];
    if (this.settled.length === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
    }
    if (due.length === 0) return;
    await this.tasks.markDelivered(due).catch((error: unknown) => {
      this.logger.warn('delivery.not_marked', { count: due.length, error });
    });
  }
}
