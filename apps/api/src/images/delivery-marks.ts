import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { TaskStore } from '#tasks/task-store.js';
import { Logger } from '#telemetry/logger.js';
import type { Accepted } from './accept-image.js';

/** A connection that breaks so soon after its answer has most likely lost it on the way. */
const TICK_MS = 1_000;

interface Written {
  readonly taskId: string;
  readonly reply: FastifyReply;
  readonly counted: boolean;
}

/**
 * Notes in the row whether an outcome has reached its caller, so that a later equal request is a new one, or gets the
 * task of a caller that left (TaskIntake). Deliveries are marked only for clients that count their tries, by one statement
 * for all of a moment, off every request's path; abandoned tasks for all, at once. A delivery mark that is lost does no harm:
 * an SDK that comes back within 15 minutes would get the same image once more.
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

  /**
   * Follows the reply, which carries the outcome or only the task (`isTask`), to its last byte. A key finds its task in any
   * case. A client that does not count its tries has its task's id when the reply was written: many leave it unread.
   */
  watch(reply: FastifyReply, { task, mark }: Accepted, isTask = false): void {
    if (mark.kind === 'key') return;
    reply.raw.once('finish', () => {
      if (isTask && !mark.counted) return;
      this.fresh.push({ taskId: task.id, reply, counted: mark.counted });
      this.timer ??= setInterval(() => void this.tick(), TICK_MS).unref();
    });
    const closed = (): void => {
      if (!reply.raw.writableFinished) void this.abandoned(reply, task.id);
    };
    // The caller may have left while its image was opened.
    if (reply.raw.destroyed) closed();
    else reply.raw.once('close', closed);
  }

  /** The caller has left, or is answered without the outcome. Never throws. */
  async sentAway(reply: FastifyReply, { task, mark }: Accepted): Promise<void> {
    if (mark.kind === 'attempt') await this.abandoned(reply, task.id);
  }

  private async abandoned(reply: FastifyReply, taskId: string): Promise<void> {
    await this.tasks.markAbandoned(taskId, reply.request.id).catch((error: unknown) => {
      this.logger.warn('delivery.not_marked', { count: 1, error });
    });
  }

  /** Marks what is left. */
  async onApplicationShutdown(): Promise<void> {
    await this.tick();
    await this.tick();
  }

  /** Each waits one tick: a connection that is reset meanwhile has lost what was written to it. */
  private async tick(): Promise<void> {
    const due = this.settled;
    this.settled = this.fresh;
    this.fresh = [];
    if (this.settled.length === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
    }
    const isLost = ({ reply }: Written): boolean => reply.request.raw.socket.errored !== null;
    const delivered = due.filter((written) => written.counted && !isLost(written)).map(({ taskId }) => taskId);
    await Promise.all(due.filter(isLost).map(({ reply, taskId }) => this.abandoned(reply, taskId)));
    if (delivered.length === 0) return;
    await this.tasks.markDelivered(delivered).catch((error: unknown) => {
      this.logger.warn('delivery.not_marked', { count: delivered.length, error });
    });
  }
}
