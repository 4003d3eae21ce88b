import { jest } from '@jest/globals';
import { avifThatClaims } from '#images/sample-images.fixture.js';
import { PixelWatch } from './pixel-watch.js';

/** A JPEG that declares 30,000 x 30,000 pixels after so many bytes of metadata. */
function jpeg(metadata: number): Buffer {
  const segments = Array.from({ length: Math.ceil(metadata / 60_000) }, () => {
    const segment = Buffer.alloc(60_004);
    segment.writeUInt16BE(0xffe1, 0);
    segment.writeUInt16BE(60_002, 2);
    return segment;
  });
  const frame = Buffer.from('ffc0001108753075300301220002110103110100000000000000', 'hex');
  return Buffer.concat([Buffer.from('ffd8', 'hex'), ...segments, frame, Buffer.alloc(100_000)]);
}

describe('PixelWatch', () => {
  it.each([1, 7, 65_536, Infinity])('refuses what declares too many pixels, in pieces of %d bytes', (step) => {
    for (const image of [jpeg(0), jpeg(60_000), jpeg(180_000)]) {
      const watch = new PixelWatch('file');
      expect(() => {
        for (let at = 0; at < image.length; at += step) watch.take(image.subarray(at, at + step), 'jpeg');
      }).toThrow(expect.objectContaining({ code: 'image_too_large' }) as Error);
    }
  });

  it('refuses a GIF or AVIF that declares too many pixels, or too many for its size', async () => {
    const gif = Buffer.from('GIF89a'.padEnd(64));
    gif.writeUInt16LE(8_100, 6);
    gif.writeUInt16LE(8_100, 8);
    const dense = Buffer.from(gif);
    dense.writeUInt16LE(7_000, 6);
    for (const [image, type] of [
      [gif, 'gif'],
      [dense, 'gif'],
      [await avifThatClaims(5_000, 5_000), 'avif'],
      [await avifThatClaims(6_000, 4_000), 'avif'],
    ] as const) {
      const watch = new PixelWatch('file');
      expect(() => {
        for (let at = 0; at < image.length; at += 7) watch.take(image.subarray(at, at + 7), type);
        watch.end(type);
      }).toThrow(expect.objectContaining({ code: 'image_too_large' }) as Error);
    }
  });

  it('refuses what declares too many pixels in its last piece, however little that is', () => {
    const image = jpeg(180_000).subarray(0, -99_000);
    const watch = new PixelWatch('file');
    watch.take(image.subarray(0, 180_000), 'jpeg');
    watch.take(image.subarray(180_000), 'jpeg');
    expect(() => {
      watch.end('jpeg');
    }).toThrow(expect.objectContaining({ code: 'image_too_large' }) as Error);
  });

  it('H1: a head in pieces of one byte is gathered, not copied at every one', () => {
    const head = Buffer.alloc(262_144, 0xff);
    const copied = jest.spyOn(Buffer.prototype, 'copy');
    const joined = jest.spyOn(Buffer, 'concat');
    const watch = new PixelWatch('file');
    for (let at = 0; at < head.length; at++) watch.take(head.subarray(at, at + 1), 'jpeg');
    const bytes = [
      ...copied.mock.results.map(({ value }) => Number(value)),
      ...joined.mock.results.map(({ value }) => (value as Buffer).length),
    ];
    jest.restoreAllMocks();
    // Copied at each piece, they would be 34 GB.
    expect(bytes.reduce((sum, count) => sum + count, 0)).toBeLessThan(4 * head.length);
  });
});
