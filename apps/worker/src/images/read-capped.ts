import type { Readable } from 'node:stream';
import { ByteCollector } from '#bytes/bytes.js';

/** The stream grew beyond the bytes it may have. */
export class TooManyBytes extends Error {
  override readonly name = 'TooManyBytes';
}

/** Reads a stream to its end; destroys it and throws TooManyBytes beyond `maxBytes`, or the signal's reason. */
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
