import type { FastifyReply } from 'fastify';
import type { ServerResponse } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { BodyHold } from '../fastify/body-memory.js';

/** Server-sent events as the body of a reply. What is said after the caller has gone is dropped. */
export class EventStream {
  readonly body = new PassThrough();
  private readonly ping: NodeJS.Timeout;
  private held: string | undefined;
  private response: ServerResponse | undefined;

  /**
   * A comment is sent every `pingMs`, so that nothing between here and the caller takes the silence for an end.
   * `onClose` is called once, when the stream has ended or its caller has left. What is offered counts in `memory`
   * until it is read.
   */
  constructor(
    pingMs: number,
    onClose: () => void = () => undefined,
    private readonly memory?: BodyHold,
  ) {
    this.ping = setInterval(() => this.comment(), pingMs).unref();
    this.body.on('drain', () => this.flush());
    this.body.once('close', () => {
      clearInterval(this.ping);
      onClose();
    });
    // Noticed by the reply it is the body of.
    this.body.on('error', () => undefined);
  }

  /** Answers with status 200. A first comment takes the headers along at once. */
  open(reply: FastifyReply): void {
    this.response = reply.raw;
    reply.raw.on('drain', () => this.settle());
    reply.raw.once('close', () => {
      this.body.destroy();
      this.memory?.give();
    });
    this.comment();
    void reply
      .code(200)
      .type('text/event-stream; charset=utf-8')
      // nginx and its like would collect the events otherwise.
      .headers({ 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' })
      .send(this.body);
  }

  event(name: string, data: object): void {
    this.write(textOf(name, data));
  }

  /** Like `event`, for what a caller can do without: left out when there is no memory for it to wait in until it is read. */
  offer(name: string, data: object): void {
    if (!this.body.writable) return;
    this.settle();
    const text = textOf(name, data);
    try {
      this.memory?.take(text.length);
    } catch {
      return;
    }
    this.write(text);
  }

  /** An event without a name, as chats are streamed. */
  data(text: string): void {
    this.write(`data: ${text}\n\n`);
  }

  /** Like `event`, but a caller that reads slowly gets the latest one instead of all of them. */
  latest(name: string, data: object): void {
    if (this.body.writableNeedDrain) this.held = textOf(name, data);
    else this.event(name, data);
  }

  /**
   * An event whose data, one line of JSON, is streamed; no comment comes any more. Throws when that fails; the reply is then
   * cut.
   */
  async stream(name: string, data: Readable): Promise<void> {
    clearInterval(this.ping);
    this.write(`event: ${name}\ndata: `);
    await pipeline(data, this.body, { end: false });
    this.write('\n\n');
  }

  /** Ends after what has been said. */
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

  /** Gives the memory back once nothing waits any more. */
  private settle(): void {
    if (this.body.readableLength + this.body.writableLength + (this.response?.writableLength ?? 0) > 0) return;
    this.memory?.give();
  }

  private comment(): void {
    // A caller that does not read has enough waiting to know that the connection lives.
    if (!this.body.writableNeedDrain) this.write(': ping\n\n');
  }

  private write(text: string): void {
    if (this.body.writable) this.body.write(text);
  }
}

function textOf(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
