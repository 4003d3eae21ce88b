import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { crc32, createDeflate } from 'node:zlib';
import type { ProviderInputImage } from '../image-provider.js';
import type { Size } from '../offered-size.js';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const BITS = 8;
const GRAY_AND_ALPHA = 4;

/** A mask that lets everything be painted anew: a PNG that is transparent all over. */
export async function clearMask({ width, height }: Size): Promise<ProviderInputImage> {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([BITS, GRAY_AND_ALPHA], 8);
  // A row is the number of its filter and two bytes for each pixel, all of them 0.
  const pixels = await buffer(Readable.from(zeros(height * (1 + 2 * width))).pipe(createDeflate()));
  const bytes = Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ]);
  return { bytes, contentType: 'image/png', width, height };
}

/** In pieces: of the largest image they are 128 MB. */
function* zeros(bytes: number): Generator<Buffer> {
  const block = Buffer.alloc(65_536);
  for (let rest = bytes; rest > 0; rest -= block.length) yield block.subarray(0, rest);
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
