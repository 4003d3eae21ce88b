import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';

/** A smooth image in which every pixel differs from its neighbors; identical on every machine. */
export function gradient(width: number, height: number, channels: 3 | 4 = 3): Buffer {
  const pixels = Buffer.alloc(width * height * channels);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * channels;
      pixels[at] = Math.floor((255 * x) / width);
      pixels[at + 1] = Math.floor((255 * y) / height);
      pixels[at + 2] = (x + y) % 256;
      if (channels === 4) pixels[at + 3] = x < width / 2 ? 0 : 255;
    }
  }
  return pixels;
}

/** An encoded `gradient`. */
export function gradientImage(
  width: number,
  height: number,
  type: 'png' | 'jpeg' | 'webp' | 'gif',
  channels: 3 | 4 = 3,
): Promise<Buffer> {
  return sharp(gradient(width, height, channels), { raw: { width, height, channels } })
    .toFormat(type)
    .toBuffer();
}

/** A GIF that shows `frames` frames for a tenth of a second each, alternately upside down, three times. */
export function animatedGif(width: number, height: number, frames: number): Promise<Buffer> {
  const upright = gradient(width, height);
  const pixels = Buffer.concat(
    Array.from({ length: frames }, (_, n) => (n % 2 === 0 ? upright : upright.map((v) => 255 - v))),
  );
  return sharp(pixels, { raw: { width, height: frames * height, channels: 3, pageHeight: height } })
    .gif({ effort: 1, delay: Array.from({ length: frames }, () => 100), loop: 3 })
    .toBuffer();
}

/** The decoded pixels of an image, without applying an orientation. */
export function pixelsOf(bytes: Buffer): Promise<Buffer> {
  return sharp(bytes).raw().toBuffer();
}

/** One PNG chunk with a valid checksum. */
export function pngChunk(type: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(content.length, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}

/** Inserts a chunk directly after a PNG's header. */
export function withPngChunk(png: Buffer, type: string, content: Buffer): Buffer {
  const headerEnd = 8 + 25;
  return Buffer.concat([png.subarray(0, headerEnd), pngChunk(type, content), png.subarray(headerEnd)]);
}

/** A few KB that decode to `edge * edge * 3` bytes. */
export function pngBomb(edge: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(edge, 0);
  header.writeUInt32BE(edge, 4);
  header.set([1, 0, 0, 0, 0], 8);
  const rows = deflateSync(Buffer.alloc((Math.ceil(edge / 8) + 1) * edge), { level: 9 });
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    pngChunk('IHDR', header),
    pngChunk('IDAT', rows),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}
