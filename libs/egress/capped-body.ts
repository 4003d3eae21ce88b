import type { Readable } from 'node:stream';
import { ByteCollector } from '#bytes/bytes.js';

/** Limits on the size and speed of a response body. */
export interface BodyLimits {
  readonly maxBytes: number;
  /** Length that the server announced, in bytes. */
  readonly announced?: number;
  /** Minimum rate in bytes per second, measured in each window. */
  readonly minRate: number;
  readonly rateWindowMs: number;
}

/** Reads a whole body. Throws as soon as it is too long or too slow, or when the connection breaks. */
export async function readCappedBody(body: Readable, limits: BodyLimits): Promise<Buffer> {
  const collected = new ByteCollector(Math.min(limits.announced ?? 0, limits.maxBytes));
  let bytesAtTick = 0;
  const expected = (limits.minRate * limits.rateWindowMs) / 1_000;
  let isRead = false;
  const judge = (): void => {
    if (!isRead && collected.bytes - bytesAtTick < expected) body.destroy(new Error('the body comes too slowly'));
    bytesAtTick = collected.bytes;
  };
  // In a process that has stalled, timers run before what has arrived in the meantime is read; immediates run after it.
  const timer = setInterval(() => setImmediate(judge), limits.rateWindowMs);
  try {
    for await (const chunk of body) {
      collected.add(chunk as Buffer);
      if (collected.bytes > limits.maxBytes) throw new Error('the body is too long');
    }
  } finally {
    isRead = true;
    clearInterval(timer);
  }
  return collected.joined();
}
