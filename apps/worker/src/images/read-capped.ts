import type { Readable } from 'node:stream';
import { ByteCollector } from '#bytes/bytes.js';

/** The stream exceeded its maximum size. */
export class TooManyBytes extends Error {
  override readonly name = 'TooManyBytes';
}

/**
 * Reads a whole stream. Beyond `maxBytes`, destroys it and throws TooManyBytes; when aborted, throws the signal's
 * reason.
 */
export async function readCapped(stream: Readable, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const collected = new ByteCollector();
  const abort = (): void => {
    stream.destroy(signal.reason as Error);
  };
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      collected.add(chunk);
      if (collected.bytes > maxBytes) throw new TooManyBytes();
    }
    return await collected.joined();
  } finally {
    signal.removeEventListener('abort', abort);
    stream.destroy();
  }
}
