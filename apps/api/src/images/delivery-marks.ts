import type { Socket } from 'node:net';
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
  readonly socket: Socket;
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
  /** What may be lost still, by connection: those that are kept open carry many answers. */
  private readonly unsure = new WeakMap<Socket, Set<Written>>();

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
      const { socket } = reply.request.raw;
      if (socket.errored !== null) return void this.abandoned(reply, task.id);
      const written = { taskId: task.id, reply, counted: mark.counted, socket };
      this.fresh.push(written);
      this.on(socket).add(written);
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

  /** The written answers of a connection. When it is reset, they are marked at once: their callers may be back soon. */
  private on(socket: Socket): Set<Written> {
    const known = this.unsure.get(socket);
    if (known !== undefined) return known;
    const written = new Set<Written>();
    this.unsure.set(socket, written);
    socket.once('close', (wasReset) => {
      if (wasReset) for (const { reply, taskId } of written) void this.abandoned(reply, taskId);
    });
    return written;
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
    for (const written of due) this.on(written.socket).delete(written);
    const delivered = due.filter(({ counted, socket }) => counted && socket.errored === null);
    if (delivered.length === 0) return;
    await this.tasks.markDelivered(delivered.map(({ taskId }) => taskId)).catch((error: unknown) => {
      this.logger.warn('delivery.not_marked', { count: delivered.length, error });
    });
  }
}
