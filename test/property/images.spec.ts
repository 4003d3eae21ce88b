import fc from 'fast-check';
import sharp from 'sharp';
import { deflateSync } from 'node:zlib';
import {
  animatedAvif,
  animatedGif,
  avifThatClaims,
  gradient,
  pngBomb,
  pngChunk,
  withPngChunk,
} from '#images/sample-images.fixture.js';
import { answerOf, contractError } from '../support/contract-answer.js';
import { PROPERTY_TIMEOUT_MS, runs } from '../support/effort.js';
import { counted } from '../support/figures.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { peakDuring } from '../support/process-figures.js';
import { expectNoDataLoss } from '../support/no-data-loss.js';
import { REFUSED_PROMPT } from './image-fields.js';
import { AVIF, GIF, JPEG, PNG, WEBP } from './references.js';

const EDITS = '/v1/images/edits/async';
/** What an image that was looked at to its last pixel ends with here: the sandbox refuses the prompt. */
const TAKEN = 'moderation_blocked';
const REFUSALS = ['invalid_image_file', 'unsupported_image_media_type', 'image_too_large', 'image_too_small'];

describe('images that are not what they seem', () => {
  let platform: Platform;

  beforeAll(async () => {
    platform = await startPlatform({ WORKER_CONCURRENCY: '4' });
  });
  afterAll(() => platform.close());

  /** Code and param of what becomes of an edit with this image, at once or later. */
  async function outcome(image: Buffer, fields: object = {}): Promise<{ code: string; param: string | null }> {
    const body = { prompt: REFUSED_PROMPT, images: [{ image_url: uri(image) }], ...fields };
    const answer = await answerOf(await platform.call(EDITS, { body }));
    const refused = contractError(answer, EDITS);
    if (refused !== undefined) return { code: refused.code, param: refused.param };
    const path = `/v1/tasks/${answer.headers['x-task-id']}`;
    for (;;) {
      const { data } = (await (await platform.call(`${path}?wait=30`)).json()) as {
        data: { error?: { code: string; param: string }; status: string };
      };
      if (data.error !== undefined) return { code: data.error.code, param: data.error.param };
      expect(data.status).toBe('pending');
    }
  }

  it.each([
    ['PNG', PNG],
    ['JPEG', JPEG],
    ['WebP', WEBP],
    ['GIF', GIF],
    ['AVIF', AVIF],
  ])(
    'a damaged %s is taken or refused, and never more than that',
    async (_name, original) => {
      const flip = fc.record({ at: fc.nat(original.length - 1), value: fc.nat(255) });
      const damage = fc.record({
        flips: fc.array(flip, { maxLength: 6 }),
        keep: fc.oneof(
          { weight: 3, arbitrary: fc.constant(original.length) },
          fc.integer({ min: 1, max: original.length }),
        ),
        tail: fc.constantFrom('', '<html><script>alert(1)</script></html>', 'PK\x03\x04', '\0'.repeat(3_000)),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(damage, { minLength: 4, maxLength: 4 }), async (damages) => {
          const images = damages.map(({ flips, keep, tail }) => {
            const bytes = Buffer.from(original);
            for (const { at, value } of flips) bytes[at] = value;
            return Buffer.concat([bytes.subarray(0, keep), Buffer.from(tail)]);
          });
          for (const { code, param } of await Promise.all(images.map((image) => outcome(image)))) {
            expect([TAKEN, ...REFUSALS]).toContain(code);
            if (code !== TAKEN) expect(param).toBe('images[0].image_url');
          }
        }),
        runs(12),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it('a whole image with a page behind it is taken without the page', async () => {
    for (const bytes of [PNG, JPEG, WEBP, GIF, AVIF]) {
      expect((await outcome(Buffer.concat([bytes, Buffer.from('<html></html>')]))).code).toBe(TAKEN);
    }
  });

  const zeros = (megabytes: number): Buffer => deflateSync(Buffer.alloc(megabytes * 1e6), { level: 9 });
  const named = (name: string, content: Buffer): Buffer => Buffer.concat([Buffer.from(`${name}\0\0`), content]);
  const sized = (bytes: Buffer, at: number, size: number): Buffer => {
    const copy = Buffer.from(bytes);
    copy.writeUInt32BE(size, at);
    return copy;
  };
  const jpegOf = (edge: number): Buffer => {
    const copy = Buffer.from(JPEG);
    const frame = copy.indexOf(Buffer.from([0xff, 0xc0]));
    copy.writeUInt16BE(edge, frame + 5);
    copy.writeUInt16BE(edge, frame + 7);
    return copy;
  };
  const animated = (): Promise<Buffer> =>
    sharp(gradient(64, 6_400), { raw: { width: 64, height: 6_400, channels: 3, pageHeight: 64 } })
      .webp({ effort: 0 })
      .toBuffer();

  /** 64 megapixels that must be turned, for which all of them are in memory. */
  const large = (background: string): Promise<Buffer> =>
    sharp({ create: { width: 7_999, height: 8_000, channels: 3, background } })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();

  it('bombs cost neither the worker nor its memory', async () => {
    const bombs: [string, Buffer, readonly string[]][] = [
      ['256 megapixels in 32 kB', pngBomb(16_000), ['image_too_large']],
      ['a PNG of 2^31 pixels per edge', sized(pngBomb(64), 16, 0x7fffffff), REFUSALS],
      ['64 megapixels in 8 kB', pngBomb(8_000), ['image_too_large']],
      ['64 megapixels in 62 kB, which are allowed', pngBomb(8_000, 8), [TAKEN]],
      ['a JPEG of 64 megapixels to be turned, which are allowed', await large('blue'), [TAKEN]],
      ['another JPEG of 64 megapixels', await large('green'), [TAKEN]],
      ['a JPEG that claims 65500 pixels per edge', jpegOf(65_500), ['image_too_large']],
      ['a JPEG that claims more pixels than it has', jpegOf(7_000), [TAKEN, ...REFUSALS]],
      ['100 frames of WebP', await animated(), ['invalid_image_file']],
      ['an animated PNG', withPngChunk(PNG, 'acTL', Buffer.alloc(8, 1)), ['invalid_image_file']],
      ['an animated GIF', await animatedGif(96, 80, 50), ['invalid_image_file']],
      ['an animated AVIF', await animatedAvif(), ['invalid_image_file']],
      ['an AVIF that claims 64 megapixels', await avifThatClaims(8_000, 8_000), ['image_too_large']],
      ['an AVIF that claims 24 megapixels in a few bytes', await avifThatClaims(6_000, 4_000), ['image_too_large']],
      ['an AVIF that claims more pixels than it has', await avifThatClaims(4_000, 4_000), [TAKEN, ...REFUSALS]],
      ['an AVIF that claims fewer pixels than it has', await avifThatClaims(64, 64), REFUSALS],
      [
        'an AVIF with a box that claims 4 GB',
        sized(AVIF, AVIF.indexOf('meta') - 4, 0xffffffff),
        ['invalid_image_file'],
      ],
      ['a chunk that claims 4 GB', sized(PNG, 33, 0xffffffff), ['invalid_image_file']],
      [
        'a WebP that claims 4 GB',
        Buffer.concat([WEBP.subarray(0, 4), Buffer.alloc(4, 0xff), WEBP.subarray(8)]),
        REFUSALS,
      ],
      ['300 MB of text in 300 kB', withPngChunk(PNG, 'zTXt', named('Comment', zeros(300))), [TAKEN]],
      ['a color profile of 300 MB', withPngChunk(PNG, 'iCCP', named('icc', zeros(300))), [TAKEN, ...REFUSALS]],
      ['10 MB of plain text', withPngChunk(PNG, 'tEXt', named('Comment', Buffer.alloc(10_000_000, 'a'))), [TAKEN]],
      [
        '100,000 empty chunks',
        withPngChunk(PNG, 'teSt', Buffer.concat(Array<Buffer>(100_000).fill(pngChunk('teSt', Buffer.alloc(0))))),
        [TAKEN, ...REFUSALS],
      ],
      [
        'an image of 1 x 1',
        await sharp(gradient(1, 1), { raw: { width: 1, height: 1, channels: 3 } })
          .png()
          .toBuffer(),
        ['image_too_small'],
      ],
      [
        'rows that end too soon',
        Buffer.concat([
          PNG.subarray(0, 33),
          pngChunk('IDAT', deflateSync(Buffer.alloc(10))),
          pngChunk('IEND', Buffer.alloc(0)),
        ]),
        [TAKEN, ...REFUSALS],
      ],
    ];
    const { pid } = platform.worker;
    // The largest that is allowed, by which the memory for decoding is measured on this machine.
    const allowed = await large('red');
    const one = await peakDuring(pid, async () => {
      expect((await outcome(allowed)).code).toBe(TAKEN);
    });
    const found: (readonly [string, string])[] = [];
    const all = await peakDuring(pid, async () => {
      const codes = bombs.map(async ([name, bytes]) => [name, (await outcome(bytes)).code] as const);
      found.push(...(await Promise.all(codes)));
    });
    for (const [index, [, , expected]] of bombs.entries()) {
      const [name = '', code = ''] = found[index] ?? [];
      expect([name, expected.includes(code) ? 'fine' : code]).toEqual([name, 'fine']);
    }
    counted('Damaged images and bombs', 'memory of one allowed image, of all bombs (MB)', `${one}, ${all}`);
    // The worker takes four at a time; not even two of them may be in memory at once.
    expect(all).toBeLessThan(2 * one);
  });

  it('a mask that is no mask is refused by its own name', async () => {
    const masks = [
      JPEG,
      WEBP,
      PNG,
      pngBomb(7_000),
      pngBomb(16_000),
      Buffer.concat([PNG.subarray(0, 60), Buffer.alloc(40)]),
    ];
    for (const mask of masks) {
      expect(await outcome(PNG, { mask: { image_url: uri(mask) } })).toEqual({
        code: 'invalid_mask',
        param: 'mask.image_url',
      });
    }
  });

  it('leave the platform as it was', () => expectNoDataLoss(platform, 'Damaged images and bombs'));
});

function uri(bytes: Buffer): string {
  return `data:image/png;base64,${bytes.toString('base64')}`;
}
