import type { Readable } from 'node:stream';

/** The stream grew beyond the bytes it may have. */
export class TooManyBytes extends Error {
  override readonly name = 'TooManyBytes';
}

/** Reads a stream to its end; destroys it and throws TooManyBytes beyond `maxBytes`, or the signal's reason. */
export async function readCapped(stream: Readable, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const abort = (): void => {
    stream.destroy(signal.reason as Error);
  };
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new TooManyBytes();
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, bytes);
  } finally {
    signal.removeEventListener('abort', abort);
    stream.destroy();
  }
}
