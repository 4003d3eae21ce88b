import { Readable } from 'node:stream';
import type { ObjectBody } from './object-store.js';

/**
 * The chunks of a body on its way into a store, counted. Iterating throws the body's own error or the signal's reason.
 * A body that ends early without an error also throws, so a truncated image is never stored as complete.
 */
export class IncomingBody implements AsyncIterable<Buffer> {
  bytes = 0;
  private problem: { error: unknown } | undefined;

  private readonly body: Readable;

  constructor(
    given: ObjectBody,
    private readonly signal?: AbortSignal,
  ) {
    const body = given instanceof Readable ? given : Readable.from(given);
    this.body = body;
    // The body may fail before it is read; without a listener, its error would end the process.
    body.on('error', () => undefined);
  }

  /** The error from the body or the signal, as opposed to one from the store. */
  get failure(): { error: unknown } | undefined {
    return this.problem;
  }

  /** Stops reading the body. */
  destroy(): void {
    this.body.destroy();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    const abort = (): void => void this.body.destroy();
    this.signal?.addEventListener('abort', abort, { once: true });
    let asked = true;
    try {
      this.signal?.throwIfAborted();
      for await (const chunk of this.body) {
        this.signal?.throwIfAborted();
        const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Buffer);
        this.bytes += bytes.length;
        asked = false;
        yield bytes;
        asked = true;
      }
      this.signal?.throwIfAborted();
    } catch (error) {
      // The store threw this while it processed a chunk; the body did not fail.
      if (!asked) throw error;
      this.problem = { error: this.signal?.aborted === true ? (this.signal.reason as unknown) : error };
      throw this.problem.error;
    } finally {
      this.signal?.removeEventListener('abort', abort);
      this.body.destroy();
    }
  }
}
