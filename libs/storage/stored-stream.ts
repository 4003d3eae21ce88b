import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { StorageError, type StoredObject } from './object-store.js';

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
  // Whoever reads by `read` doesn't hear of an error here; without a listener, it would end the process.
  stream.on('error', () => undefined);
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
    if (seen !== bytes) throw endedEarly(seen, bytes);
  } catch (error) {
    throw brokeOff(error);
  } finally {
    clearTimeout(timer);
  }
}

/** `StoredObject.read` of a file: so many bytes from `first` on. */
export function fileReader(
  handle: FileHandle,
  { first, bytes, signal }: Pick<ExpectedObject, 'bytes' | 'signal'> & { readonly first: number },
): StoredObject['read'] {
  let seen = 0;
  return async (room) => {
    const wanted = Math.min(room.length, bytes - seen);
    for (let filled = 0; filled < wanted;) {
      signal?.throwIfAborted();
      const read = handle.read(room, filled, wanted - filled, first + seen);
      const { bytesRead } = await read.catch((error: unknown) => Promise.reject(brokeOff(error)));
      if (bytesRead === 0) throw brokeOff(endedEarly(seen, bytes));
      filled += bytesRead;
      seen += bytesRead;
    }
    return wanted;
  };
}

/** `StoredObject.read` of a stored stream. */
export function streamReader(stream: Readable): StoredObject['read'] {
  const chunks = (stream as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  return async (room) => {
    let filled = 0;
    while (filled < room.length) {
      if (rest.length === 0) {
        const next = await chunks.next();
        if (next.done === true) break;
        rest = next.value;
      }
      const copied = rest.copy(room, filled);
      filled += copied;
      rest = rest.subarray(copied);
    }
    return filled;
  };
}

/** All bytes of an object, in one buffer. Throws StorageError, or the reason of the signal that it was opened with. */
export async function readWhole({ bytes, read, stream }: StoredObject): Promise<Buffer> {
  try {
    const whole = Buffer.allocUnsafeSlow(bytes);
    if ((await read(whole)) < bytes) throw brokeOff(new Error('the object is shorter than its length'));
    return whole;
  } finally {
    stream.destroy();
  }
}

function endedEarly(seen: number, bytes: number): Error {
  return new Error(`${seen} of ${bytes} bytes came`);
}

function brokeOff(cause: unknown): StorageError {
  return new StorageError('object store: reading broke off', { cause });
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('reading was given up', { cause: reason });
}
