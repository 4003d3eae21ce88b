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
  type: 'png' | 'jpeg' | 'webp' | 'gif' | 'avif',
  channels: 3 | 4 = 3,
): Promise<Buffer> {
  return sharp(gradient(width, height, channels), { raw: { width, height, channels } })
    .toFormat(type)
    .toBuffer();
}

/** An AVIF that keeps every pixel of its `gradient`. */
export function exactAvif(width: number, height: number, channels: 3 | 4 = 3): Promise<Buffer> {
  return sharp(gradient(width, height, channels), { raw: { width, height, channels } })
    .avif({ lossless: true, effort: 0 })
    .toBuffer();
}

/** A sequence of images in AVIF, as far as its first bytes tell. */
export async function animatedAvif(): Promise<Buffer> {
  const bytes = await exactAvif(96, 80);
  bytes.write('avis', 8, 'latin1');
  return bytes;
}

/** An AVIF that declares so many pixels, whatever it has. */
export async function avifThatClaims(width: number, height: number): Promise<Buffer> {
  const bytes = await exactAvif(96, 80);
  const size = bytes.indexOf('ispe') + 8;
  bytes.writeUInt32BE(width, size);
  bytes.writeUInt32BE(height, size + 4);
  return bytes;
}

/** The first bytes of a photo of a phone, and nothing behind them. */
export function heicStart(): Buffer {
  return Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypheic\0\0\0\0mif1heic'), Buffer.alloc(100)]);
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

/** A progressive JPEG of black pixels: one scan of their averages, and scans that each go through all pixels again. */
export function jpegOfScans(scans: number): Buffer {
  const width = 96;
  const height = 80;
  const blocks = (width * height) / 64;
  const segment = (marker: number, ...content: number[]): Buffer =>
    Buffer.from([0xff, marker, 0, content.length + 2, ...content]);
  // One code of one bit: no difference to the block before, or `run` blocks without details and 7 bits for the rest.
  const table = (kind: number, symbol: number): Buffer =>
    segment(0xc4, kind, 1, ...Array.from({ length: 15 }, () => 0), symbol);
  const averages = Buffer.alloc(blocks / 8);
  // A run of 64 and `blocks - 64` blocks: the code, and six bits.
  const details = Buffer.from([((blocks - 64) << 1) | 1]);
  const scan = Buffer.concat([segment(0xda, 1, 1, 0, 1, 63, 0), details]);
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xdb, 0, ...Array.from({ length: 64 }, () => 1)),
    segment(0xc2, 8, 0, height, 0, width, 1, 1, 0x11, 0),
    table(0x00, 0x00),
    table(0x10, 0x60),
    segment(0xda, 1, 1, 0, 0, 0, 0),
    averages,
    ...Array.from({ length: scans - 1 }, () => scan),
    Buffer.from([0xff, 0xd9]),
  ]);
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

/** The PNG with another height in its header, with the right checksum: only a decoder notices. */
export function withPngHeight(png: Buffer, height: number): Buffer {
  const head = Buffer.from(png.subarray(16, 29));
  head.writeUInt32BE(height, 4);
  return Buffer.concat([png.subarray(0, 8), pngChunk('IHDR', head), png.subarray(33)]);
}

/** A few KB of gray, or of black and white (`bits` 1), that decode to `edge * edge * 3` bytes. */
export function pngBomb(edge: number, bits: 1 | 8 = 1): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(edge, 0);
  header.writeUInt32BE(edge, 4);
  header.set([bits, 0, 0, 0, 0], 8);
  const rows = deflateSync(Buffer.alloc((Math.ceil((edge * bits) / 8) + 1) * edge), { level: 9 });
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    pngChunk('IHDR', header),
    pngChunk('IDAT', rows),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}
