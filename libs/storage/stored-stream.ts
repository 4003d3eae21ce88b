import { Readable } from 'node:stream';
import { StorageError } from './object-store.js';

interface ExpectedObject {
  /** Size of the object; a stream that ends earlier fails. */
  readonly bytes: number;
  /** Longest pause of the store while a chunk is requested, in ms. */
  readonly idleTimeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads an object as a stream that ends complete or fails with StorageError (or the signal's reason). The timeout runs
 * only while a chunk is requested, so a slow reader is not mistaken for a slow store.
 */
export function storedStream(source: Readable, expected: ExpectedObject): Readable {
  source.on('error', () => undefined);
  const chunks = read(source, expected);
  let left = expected.bytes;
  let complete = false;
  // Readable.from would wait for the pending chunk before it destroys the source.
  const stream = new Readable({
    highWaterMark: 65_536,
    read() {
      chunks.next().then(
        ({ done, value }) => {
          this.push(done === true ? null : value);
          left -= value?.length ?? 0;
          if (done === true || left !== 0) return;
          // Ends with the last byte: a client closes once it has all bytes, so a later end would look like a disconnect.
          this.push(null);
          // Reads to the source's own end, or its connection could not be used again.
          complete = true;
          chunks.next().catch(() => undefined);
        },
        (error: unknown) => this.destroy(asError(error)),
      );
    },
    destroy(error, callback) {
      if (!complete) source.destroy();
      callback(error);
    },
  });
  const abort = (): void => void stream.destroy(asError(expected.signal?.reason));
  expected.signal?.addEventListener('abort', abort, { once: true });
  stream.once('close', () => expected.signal?.removeEventListener('abort', abort));
  return stream;
}

async function* read(
  source: Readable,
  { bytes, idleTimeoutMs }: ExpectedObject,
): AsyncGenerator<Buffer, void, undefined> {
  const stalled = (): void => void source.destroy(new Error(`no byte came for ${idleTimeoutMs} ms`));
  const arm = (): NodeJS.Timeout | undefined =>
    idleTimeoutMs === undefined ? undefined : setTimeout(stalled, idleTimeoutMs);
  let seen = 0;
  let timer = arm();
  try {
    for await (const chunk of source) {
      clearTimeout(timer);
      seen += (chunk as Buffer).length;
      yield chunk as Buffer;
      timer = arm();
    }
    if (seen !== bytes) throw new Error(`${seen} of ${bytes} bytes came`);
  } catch (error) {
    throw new StorageError('object store: reading broke off', { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('reading was given up', { cause: reason });
}
