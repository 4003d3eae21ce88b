import fc from 'fast-check';
import sharp from 'sharp';
import { gradientImage, pixelsOf } from '../sample-images.fixture.js';
import type { ImageType } from '../sniff.js';
import { finishedFile } from './finished-file.fixture.js';

const idle = new AbortController().signal;
const MARK = { taskId: 'task_1', action: 'generation', tool: 'Darkroom' } as const;

/** The file as it would be stored; undefined if it is refused as the provider's fault. */
async function stored(bytes: Buffer, format: ImageType): Promise<Buffer | undefined> {
  const order = { target: undefined, format, compression: undefined, background: undefined };
  try {
    return (await finishedFile(bytes, { ...order, mark: MARK }, idle)).bytes;
  } catch (error) {
    expect(error).toMatchObject({ code: 'upstream_invalid_response' });
    return undefined;
  }
}

/** Several kinds of each format, because their decoders differ. */
const FILES: readonly [string, ImageType, () => Promise<Buffer>][] = [
  ['PNG', 'png', () => gradientImage(96, 80, 'png')],
  ['transparent PNG', 'png', () => gradientImage(96, 80, 'png', 4)],
  [
    'PNG with a palette',
    'png',
    async () =>
      sharp(await gradientImage(96, 80, 'png'))
        .png({ palette: true })
        .toBuffer(),
  ],
  [
    'interlaced PNG',
    'png',
    async () =>
      sharp(await gradientImage(96, 80, 'png'))
        .png({ progressive: true })
        .toBuffer(),
  ],
  ['JPEG', 'jpeg', () => gradientImage(96, 80, 'jpeg')],
  [
    'progressive JPEG',
    'jpeg',
    async () =>
      sharp(await gradientImage(96, 80, 'png'))
        .jpeg({ progressive: true })
        .toBuffer(),
  ],
  ['WebP', 'webp', () => gradientImage(96, 80, 'webp')],
  [
    'lossless WebP',
    'webp',
    async () =>
      sharp(await gradientImage(96, 80, 'png'))
        .webp({ lossless: true })
        .toBuffer(),
  ],
  ['GIF', 'gif', () => gradientImage(96, 80, 'gif')],
];

describe.each(FILES)('a provider’s %s', (_name, format, make) => {
  let whole: Buffer;

  beforeAll(async () => {
    whole = await make();
  });

  test('is stored with the same pixels', async () => {
    const file = await stored(whole, format);
    expect(file && (await pixelsOf(file)).equals(await pixelsOf(whole))).toBe(true);
  });

  test('is refused when it was cut, wherever that was, and whatever came instead', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: whole.length - 3 }),
        fc.constantFrom('', '\0\0\0\0', '<html>502</html>'),
        async (keep, rest) => {
          fc.pre(keep + rest.length < whole.length - 2);
          expect(await stored(Buffer.concat([whole.subarray(0, keep), Buffer.from(rest)]), format)).toBeUndefined();
        },
      ),
      {
        numRuns: 60,
        examples: [
          [whole.length - 3, ''],
          [Math.floor(whole.length / 2), ''],
        ],
      },
    );
  });

  test('of which any bits were flipped is refused, or decodes to its last pixel; as a PNG, to the same pixels', async () => {
    const pixels = await pixelsOf(whole);
    const flip = fc.record({ at: fc.nat(whole.length - 1), bits: fc.integer({ min: 1, max: 255 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(flip, { minLength: 1, maxLength: 4 }), async (flips) => {
        const bytes = Buffer.from(whole);
        for (const { at, bits } of flips) bytes.writeUInt8(bytes.readUInt8(at) ^ bits, at);
        const file = await stored(bytes, format);
        if (file === undefined) return;
        const decoded = await sharp(file, { failOn: 'error' }).raw().toBuffer();
        if (format === 'png') expect(decoded.equals(pixels)).toBe(true);
      }),
      { numRuns: 120 },
    );
  });

  test('of which a part came twice or never is refused, or decodes to its last pixel', async () => {
    const pixels = await pixelsOf(whole);
    const part = fc.record({ start: fc.nat(whole.length - 1), bytes: fc.integer({ min: 1, max: 2_000 }) });
    await fc.assert(
      fc.asyncProperty(part, fc.boolean(), async ({ start, bytes: count }, twice) => {
        const end = Math.min(whole.length, start + count);
        const bytes = Buffer.concat([whole.subarray(0, twice ? end : start), whole.subarray(twice ? start : end)]);
        const file = await stored(bytes, format);
        if (file === undefined) return;
        const decoded = await sharp(file, { failOn: 'error' }).raw().toBuffer();
        if (format === 'png') expect(decoded.equals(pixels)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});

/** Offsets of the bytes around each chunk's content: its length, its type, and its checksum. */
function framingOf(png: Buffer): number[] {
  const offsets: number[] = [];
  for (let at = 8; at < png.length;) {
    const content = png.readUInt32BE(at);
    offsets.push(...[0, 1, 2, 3, 4, 5, 6, 7].map((byte) => at + byte));
    offsets.push(...[8, 9, 10, 11].map((byte) => at + byte + content));
    at += 12 + content;
  }
  return offsets;
}

test.each(FILES.filter(([, format]) => format === 'png'))(
  'a provider’s %s of which any bit around a chunk was flipped is refused, or has the same pixels',
  async (_name, format, make) => {
    const whole = await make();
    const pixels = await pixelsOf(whole);
    const offsets = framingOf(whole);
    // The data stands in several chunks, so that it can lose one.
    expect(offsets.length).toBeGreaterThan(3 * 12);
    for (const at of offsets) {
      for (let bit = 0; bit < 8; bit += 1) {
        const bytes = Buffer.from(whole);
        bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
        const file = await stored(bytes, format);
        if (file !== undefined) expect((await pixelsOf(file)).equals(pixels)).toBe(true);
      }
    }
  },
);
