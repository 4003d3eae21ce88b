import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { crc32, createDeflate } from 'node:zlib';
import type { ProviderInputImage } from '../image-provider.js';
import type { Size } from '../offered-size.js';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const BITS = 8;
const GRAY_AND_ALPHA = 4;

/** A mask that lets the whole image be repainted: a fully transparent PNG. */
export async function clearMask({ width, height }: Size): Promise<ProviderInputImage> {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([BITS, GRAY_AND_ALPHA], 8);
  // A row is its filter type and two bytes per pixel, all 0.
  const pixels = await buffer(Readable.from(zeros(height * (1 + 2 * width))).pipe(createDeflate()));
  const bytes = Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ]);
  return { bytes, contentType: 'image/png', width, height };
}

/** Yields pieces, because the largest image needs 128 MB. */
function* zeros(bytes: number): Generator<Buffer> {
  const block = Buffer.alloc(65_536);
  for (let rest = bytes; rest > 0; rest -= block.length) yield block.subarray(0, rest);
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name), data]);
  const length = Buffer.alloc(4);
  const sum = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
