import type { FastifyReply } from 'fastify';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Server-sent events as the body of a reply. What is said after the caller has gone is dropped. */
export class EventStream {
  private readonly body = new PassThrough();
  private readonly ping: NodeJS.Timeout;

  /** A comment is sent every `pingMs`, so that nothing between here and the caller takes the silence for an end. */
  constructor(pingMs: number) {
    this.ping = setInterval(() => {
      this.comment();
    }, pingMs).unref();
    this.body.once('close', () => {
      clearInterval(this.ping);
    });
    // Noticed by the reply it is the body of.
    this.body.on('error', () => undefined);
  }

  /** Answers with status 200. A first comment takes the headers along at once. */
  open(reply: FastifyReply): void {
    this.comment();
    void reply
      .code(200)
      .type('text/event-stream')
      .headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
      .send(this.body);
  }

  event(name: string, data: object): void {
    this.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** Ends with one event whose data, one line of JSON, is streamed. Throws when that fails; the reply is then cut. */
  async endWith(name: string, data: Readable): Promise<void> {
    clearInterval(this.ping);
    this.write(`event: ${name}\ndata: `);
    await pipeline(data, this.body, { end: false });
    this.body.end('\n\n');
  }

  /** Ends after what has been said. */
  end(): void {
    clearInterval(this.ping);
    this.body.end();
  }

  private comment(): void {
    // A caller that does not read has enough waiting to know that the connection lives.
    if (!this.body.writableNeedDrain) this.write(': ping\n\n');
  }

  private write(text: string): void {
    if (this.body.writable) this.body.write(text);
  }
}
