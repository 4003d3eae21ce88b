import type { Socket } from 'node:net';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { DepartedCallers } from '#tasks/intake/departed-callers.js';
import { Logger } from '#telemetry/logger.js';
import type { Accepted } from './accept-image.js';

/** A connection that breaks this soon after its response has probably lost it. */
const TICK_MS = 1_000;

interface Written {
  readonly accepted: Accepted;
  readonly reply: FastifyReply;
  readonly counted: boolean;
  readonly socket: Socket;
}

/**
 * Records whether callers received their outcome, so that an equal later request creates a new task, or gets the task
 * of a caller that disconnected (EqualRequests). Deliveries are marked only for clients that count their retries, and of
 * requests that needed an approval, in batches outside of requests; abandoned tasks are marked for all clients, at once, or as soon as Postgres answers
 * (DepartedCallers). A lost delivery mark is harmless: an SDK that returns within 15 minutes would get the same image again.
 */
@Injectable()
export class DeliveryMarks implements OnApplicationShutdown {
  private fresh: Written[] = [];
  private settled: Written[] = [];
  private timer: NodeJS.Timeout | undefined;
  /** Responses that may still be lost, by connection: keep-alive connections carry many. */
  private readonly unconfirmed = new WeakMap<Socket, Set<Written>>();

  constructor(
    private readonly departed: DepartedCallers,
    private readonly logger: Logger,
  ) {}

  /**
   * Follows a reply, which carries the outcome or only the task (`isTask`), until its last byte. With an
   * Idempotency-Key, a request finds its task in any case. A client that does not count retries is not followed after
   * it was sent only the task: it has the id, and many such clients never read the body.
   */
  watch(reply: FastifyReply, accepted: Accepted, isTask = false): void {
    const { identity } = accepted;
    if (identity.kind === 'keyed') return;
    const { socket } = reply.request.raw;
    linger(socket);
    reply.raw.once('finish', () => {
      if (isTask && !identity.counted) return;
      if (socket.errored !== null) return void this.abandoned(reply, accepted);
      const counted = identity.counted || accepted.isRepeatable === true;
      const written = { accepted, reply, counted, socket };
      this.fresh.push(written);
      this.on(socket).add(written);
      this.timer ??= setInterval(() => void this.tick(), TICK_MS).unref();
    });
    const closed = (): void => {
      if (!reply.raw.writableFinished) void this.abandoned(reply, accepted);
    };
    // The caller may have disconnected while its image was opened.
    if (reply.raw.destroyed) closed();
    else reply.raw.once('close', closed);
  }

  /** Follows a reply with the outcome of an asynchronous task that was read by its id. */
  watchRead(reply: FastifyReply, taskId: string): void {
    reply.raw.once('finish', () => {
      this.departed.markRead(taskId).catch((error: unknown) => {
        this.logger.warn('delivery.not_marked', { count: 1, error });
      });
    });
  }

  /** Marks a task whose caller disconnected or got a response without the outcome. Never throws. */
  async markUndelivered(reply: FastifyReply, accepted: Accepted): Promise<void> {
    if (accepted.identity.kind === 'unkeyed') await this.abandoned(reply, accepted);
  }

  private async abandoned(reply: FastifyReply, { task, identity }: Accepted): Promise<void> {
    await this.departed.markAbandoned(task.id, reply.request.id, identity.fingerprint).catch((error: unknown) => {
      this.logger.warn('delivery.not_marked', { count: 1, error });
    });
  }

  /** Writes the remaining marks. */
  async onApplicationShutdown(): Promise<void> {
    await this.tick();
    await this.tick();
  }

  /**
   * The responses written to a connection. When it is reset, they are marked at once, because their callers may retry
   * soon.
   */
  private on(socket: Socket): Set<Written> {
    const known = this.unconfirmed.get(socket);
    if (known !== undefined) return known;
    const written = new Set<Written>();
    this.unconfirmed.set(socket, written);
    socket.once('close', (wasReset) => {
      if (wasReset) for (const { reply, accepted } of written) void this.abandoned(reply, accepted);
    });
    return written;
  }

  /** Each response waits one tick: if the connection is reset in that time, it was lost. */
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
    await this.departed.markDelivered(delivered.map(({ accepted }) => accepted.task.id)).catch((error: unknown) => {
      this.logger.warn('delivery.not_marked', { count: delivered.length, error });
    });
  }
}

/**
 * Lets the peer end a connection that Node would destroy with the last byte of the response, because one of them sent
 * `Connection: close`: after that, its reset would not be heard.
 */
function linger(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), TICK_MS).unref();
    socket.once('close', () => clearTimeout(timer));
  };
}
