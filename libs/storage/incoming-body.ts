import type { Readable } from 'node:stream';

/**
 * The chunks of a body on its way into a store, counted. Iterating throws the body's own error, or the
 * signal's reason; a body cut off without an error throws too, so half an image is never stored as a whole one.
 */
export class IncomingBody implements AsyncIterable<Buffer> {
  bytes = 0;
  private problem: { error: unknown } | undefined;

  constructor(
    private readonly body: Readable,
    private readonly signal?: AbortSignal,
  ) {
    // The body may fail before anyone reads it; without a listener that would end the process.
    body.on('error', () => undefined);
  }

  /** What the body or the signal threw, as opposed to the store. */
  get failure(): { error: unknown } | undefined {
    return this.problem;
  }

  /** Gives up on the body; nothing more is read. */
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
      // Thrown in by the store while it held a chunk: no failure of the body.
      if (!asked) throw error;
      this.problem = { error: this.signal?.aborted === true ? (this.signal.reason as unknown) : error };
      throw this.problem.error;
    } finally {
      this.signal?.removeEventListener('abort', abort);
      this.body.destroy();
    }
  }
}
