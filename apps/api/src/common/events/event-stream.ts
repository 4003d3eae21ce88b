import type { FastifyReply } from 'fastify';
import type { ServerResponse } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { BodyReservation } from '../fastify/body-memory.js';

/** Server-sent events as the body of a response. Events after the caller disconnected are dropped. */
export class EventStream {
  readonly body = new PassThrough();
  private readonly ping: NodeJS.Timeout;
  private held: string | undefined;
  private response: ServerResponse | undefined;

  /**
   * Sends a comment every `pingMs`, so that no proxy or caller takes the silence for a broken connection. `onClose` is
   * called once, when the stream ends or its caller disconnects. Offered events count in `memory` until they are read.
   */
  constructor(
    pingMs: number,
    onClose: () => void = () => undefined,
    private readonly memory?: BodyReservation,
  ) {
    this.ping = setInterval(() => this.comment(), pingMs).unref();
    this.body.on('drain', () => this.flush());
    this.body.once('close', () => {
      clearInterval(this.ping);
      onClose();
    });
    // The reply that this is the body of handles the error.
    this.body.on('error', () => undefined);
  }

  /** Responds with status 200. The first comment sends the headers at once. */
  open(reply: FastifyReply): void {
    this.response = reply.raw;
    reply.raw.on('drain', () => this.settle());
    reply.raw.once('close', () => {
      this.body.destroy();
      this.memory?.release();
    });
    this.comment();
    void reply
      .code(200)
      .type('text/event-stream; charset=utf-8')
      // Keeps nginx and similar proxies from buffering the events.
      .headers({ 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' })
      .send(this.body);
  }

  /** Bytes that have not been handed to the system. */
  get writableLength(): number {
    return this.body.readableLength + this.body.writableLength + (this.response?.writableLength ?? 0);
  }

  event(name: string, data: object): void {
    this.write(textOf(name, data));
  }

  /** Like `event`, for optional events: dropped when there is no memory to keep it until it is read. */
  offer(name: string, data: object): void {
    if (!this.body.writable) return;
    this.settle();
    const text = textOf(name, data);
    if (this.memory?.tryReserve(text.length) !== false) this.write(text);
  }

  /** An event without a name, as in chat streams. */
  data(text: string): void {
    this.write(`data: ${text}\n\n`);
  }

  /** Like `event`, but a slow reader gets only the latest event instead of all of them. */
  latest(name: string, data: object): void {
    if (this.body.writableNeedDrain) this.held = textOf(name, data);
    else this.event(name, data);
  }

  /**
   * Streams the data of an event, one line of JSON; no comments follow. Throws when that fails, and the connection is
   * then closed.
   */
  async stream(name: string, data: Readable): Promise<void> {
    clearInterval(this.ping);
    this.write(`event: ${name}\ndata: `);
    await pipeline(data, this.body, { end: false });
    this.write('\n\n');
  }

  /** Ends the stream after the pending events. */
  end(): void {
    this.flush();
    clearInterval(this.ping);
    this.body.end();
  }

  private flush(): void {
    const text = this.held;
    this.held = undefined;
    if (text !== undefined) this.write(text);
  }

  /** Releases the memory once nothing is buffered. */
  private settle(): void {
    if (this.writableLength === 0) this.memory?.release();
  }

  private comment(): void {
    // A caller that does not read has enough buffered data to know that the connection is alive.
    if (!this.body.writableNeedDrain) this.write(': ping\n\n');
  }

  private write(text: string): void {
    if (this.body.writable) this.body.write(text);
  }
}

function textOf(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
