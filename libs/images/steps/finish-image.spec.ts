import { createHash } from 'node:crypto';
import sharp from 'sharp';
import { finishedFile } from './finished-file.fixture.js';
import { gradientImage, pixelsOf, withPngChunk, withPngHeight } from '../sample-images.fixture.js';
import type { FinishOrder } from './step.js';

const idle = new AbortController().signal;
const order = (changes: Partial<FinishOrder>): FinishOrder => ({
  target: undefined,
  format: 'png',
  compression: undefined,
  background: undefined,
  mark: undefined,
  ...changes,
});

test.each(['png', 'jpeg', 'webp'] as const)('a %s that is already right keeps its bytes', async (format) => {
  const bytes = await gradientImage(320, 192, format);
  const clean = (await finishedFile(bytes, order({ format }), idle)).bytes;
  const image = await finishedFile(clean, order({ format, target: { width: 320, height: 192 } }), idle);
  expect(image.bytes.equals(clean)).toBe(true);
  expect((await pixelsOf(clean)).equals(await pixelsOf(bytes))).toBe(true);
  expect(image).toMatchObject({ width: 320, height: 192, format, contentType: `image/${format}` });
  expect(image.sha256).toBe(createHash('sha256').update(clean).digest('hex'));
});

test('text, and whatever hangs behind the image, does not reach the file', async () => {
  const png = await gradientImage(320, 192, 'png');
  const dirty = Buffer.concat([withPngChunk(png, 'tEXt', Buffer.from('prompt\0a secret')), Buffer.from('<script>')]);
  const image = await finishedFile(dirty, order({}), idle);
  expect(image.bytes.includes('a secret') || image.bytes.includes('<script>')).toBe(false);
  expect((await pixelsOf(image.bytes)).equals(await pixelsOf(png))).toBe(true);
});

test.each([
  [1024, 1024, 1360, 2048],
  [1500, 1000, 1536, 864],
  [999, 1333, 864, 2016],
])('an image of %ix%i becomes exactly %ix%i', async (width, height, toWidth, toHeight) => {
  const target = { width: toWidth, height: toHeight };
  const image = await finishedFile(await gradientImage(width, height, 'png'), order({ target, format: 'webp' }), idle);
  expect(image).toMatchObject({ ...target, format: 'webp' });
  expect(await sharp(image.bytes).metadata()).toMatchObject({ ...target, format: 'webp' });
});

test('the middle is kept when the shape changes', async () => {
  const half = { width: 256, height: 512 };
  const image = await finishedFile(await gradientImage(512, 512, 'png'), order({ target: half }), idle);
  const middle = await sharp(await gradientImage(512, 512, 'png'))
    .extract({ left: 128, top: 0, ...half })
    .raw()
    .toBuffer();
  expect((await pixelsOf(image.bytes)).equals(middle)).toBe(true);
});

test('transparency turns white in a jpeg, or where an opaque image was ordered', async () => {
  const seeThrough = await gradientImage(128, 128, 'png', 4);
  const jpeg = await finishedFile(seeThrough, order({ format: 'jpeg' }), idle);
  const opaque = await finishedFile(seeThrough, order({ background: 'opaque' }), idle);
  const kept = await finishedFile(seeThrough, order({ background: 'transparent' }), idle);
  expect([...(await pixelsOf(opaque.bytes)).subarray(0, 3)]).toEqual([255, 255, 255]);
  expect((await pixelsOf(jpeg.bytes))[0]).toBeGreaterThan(250);
  expect((await sharp(kept.bytes).metadata()).hasAlpha).toBe(true);
});

test('compression decides how large jpeg and webp files get', async () => {
  const png = await gradientImage(512, 512, 'png');
  for (const format of ['jpeg', 'webp'] as const) {
    const sizes = await Promise.all(
      [0, 50, 100].map(
        async (compression) => (await finishedFile(png, order({ format, compression }), idle)).bytes.length,
      ),
    );
    expect(sizes).toEqual([...sizes].sort((a, b) => a - b));
    expect(new Set(sizes).size).toBe(3);
  }
});

test('a provider that sends no image is named as the one at fault', async () => {
  const answers = [
    Buffer.from('<html>502</html>'),
    Buffer.alloc(0),
    (await gradientImage(256, 256, 'png')).subarray(0, 9000),
  ];
  for (const bytes of answers) {
    const finishing = finishedFile(bytes, order({}), idle);
    await expect(finishing).rejects.toMatchObject({ code: 'upstream_invalid_response' });
  }
});

const higher = async (height: number): Promise<Buffer> => withPngHeight(await gradientImage(128, 128, 'png'), height);

test.each([
  ['other pixels', { target: { width: 64, height: 64 } }],
  ['another format', { format: 'webp' }],
] as const)(
  'an image that is smaller than its header says is unusable where %s are ordered',
  async (_name, changes) => {
    await expect(finishedFile(await higher(256), order(changes), idle)).rejects.toMatchObject({
      code: 'upstream_invalid_response',
    });
  },
);

test('an image whose data cannot hold all rows of its header is unusable', async () => {
  await expect(finishedFile(await higher(2_000_000), order({}), idle)).rejects.toMatchObject({
    code: 'upstream_invalid_response',
  });
  const flat = await sharp({ create: { width: 64, height: 64, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  const bytes = withPngHeight(flat, 12_000);
  await expect(finishedFile(bytes, order({}), idle)).rejects.toMatchObject({ code: 'upstream_invalid_response' });
});

test.each(['png', 'jpeg'] as const)('a %s that is damaged is noticed', async (format) => {
  const whole = await gradientImage(640, 480, format);
  const cut = Buffer.concat([whole.subarray(0, whole.length / 2), Buffer.alloc(whole.length / 2)]);
  const finishing = finishedFile(cut, order({ format }), idle);
  await expect(finishing).rejects.toMatchObject({ code: 'upstream_invalid_response' });
});

test('stops between two steps when told to', async () => {
  const stop = new AbortController();
  const finishing = finishedFile(await gradientImage(512, 512, 'png'), order({ format: 'jpeg' }), stop.signal);
  stop.abort(new Error('cancelled'));
  await expect(finishing).rejects.toThrow('cancelled');
});
