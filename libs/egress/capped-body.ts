import type { Readable } from 'node:stream';

export interface BodyLimits {
  readonly maxBytes: number;
  /** Bytes per second that must come in each window. */
  readonly minRate: number;
  readonly rateWindowMs: number;
}

/** Reads a body whole. Throws as soon as it is too long or too slow, or when it breaks off. */
export async function readCappedBody(body: Readable, limits: BodyLimits): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let bytesAtTick = 0;
  const expected = (limits.minRate * limits.rateWindowMs) / 1_000;
  const timer = setInterval(() => {
    if (bytes - bytesAtTick < expected) body.destroy(new Error('the body comes too slowly'));
    bytesAtTick = bytes;
  }, limits.rateWindowMs);
  try {
    for await (const chunk of body) {
      bytes += (chunk as Buffer).length;
      if (bytes > limits.maxBytes) throw new Error('the body is too long');
      chunks.push(chunk as Buffer);
    }
    return Buffer.concat(chunks, bytes);
  } finally {
    clearInterval(timer);
  }
}
