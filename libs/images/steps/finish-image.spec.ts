import { createHash } from 'node:crypto';
import sharp from 'sharp';
import { finishImage } from './finish-image.js';
import { gradientImage, pixelsOf, pngChunk, withPngChunk } from '../sample-images.fixture.js';
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
  const clean = (await finishImage(bytes, order({ format }), idle)).bytes;
  const image = await finishImage(clean, order({ format, target: { width: 320, height: 192 } }), idle);
  expect(image.bytes.equals(clean)).toBe(true);
  expect((await pixelsOf(clean)).equals(await pixelsOf(bytes))).toBe(true);
  expect(image).toMatchObject({ width: 320, height: 192, format, contentType: `image/${format}` });
  expect(image.sha256).toBe(createHash('sha256').update(clean).digest('hex'));
});

test('text, and whatever hangs behind the image, does not reach the file', async () => {
  const png = await gradientImage(320, 192, 'png');
  const dirty = Buffer.concat([withPngChunk(png, 'tEXt', Buffer.from('prompt\0a secret')), Buffer.from('<script>')]);
  const image = await finishImage(dirty, order({}), idle);
  expect(image.bytes.includes('a secret') || image.bytes.includes('<script>')).toBe(false);
  expect((await pixelsOf(image.bytes)).equals(await pixelsOf(png))).toBe(true);
});

test.each([
  [1024, 1024, 1360, 2048],
  [1500, 1000, 1536, 864],
  [999, 1333, 864, 2016],
])('an image of %ix%i becomes exactly %ix%i', async (width, height, toWidth, toHeight) => {
  const target = { width: toWidth, height: toHeight };
  const image = await finishImage(await gradientImage(width, height, 'png'), order({ target, format: 'webp' }), idle);
  expect(image).toMatchObject({ ...target, format: 'webp' });
  expect(await sharp(image.bytes).metadata()).toMatchObject({ ...target, format: 'webp' });
});

test('the middle is kept when the shape changes', async () => {
  const half = { width: 256, height: 512 };
  const image = await finishImage(await gradientImage(512, 512, 'png'), order({ target: half }), idle);
  const middle = await sharp(await gradientImage(512, 512, 'png'))
    .extract({ left: 128, top: 0, ...half })
    .raw()
    .toBuffer();
  expect((await pixelsOf(image.bytes)).equals(middle)).toBe(true);
});

test('transparency turns white in a jpeg, or where an opaque image was ordered', async () => {
  const seeThrough = await gradientImage(128, 128, 'png', 4);
  const jpeg = await finishImage(seeThrough, order({ format: 'jpeg' }), idle);
  const opaque = await finishImage(seeThrough, order({ background: 'opaque' }), idle);
  const kept = await finishImage(seeThrough, order({ background: 'transparent' }), idle);
  expect([...(await pixelsOf(opaque.bytes)).subarray(0, 3)]).toEqual([255, 255, 255]);
  expect((await pixelsOf(jpeg.bytes))[0]).toBeGreaterThan(250);
  expect((await sharp(kept.bytes).metadata()).hasAlpha).toBe(true);
});

test('compression decides how large jpeg and webp files get', async () => {
  const png = await gradientImage(512, 512, 'png');
  for (const format of ['jpeg', 'webp'] as const) {
    const sizes = await Promise.all(
      [0, 50, 100].map(
        async (compression) => (await finishImage(png, order({ format, compression }), idle)).bytes.length,
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
    const finishing = finishImage(bytes, order({}), idle);
    await expect(finishing).rejects.toMatchObject({ code: 'upstream_invalid_response' });
  }
});

test('an image that is smaller than its header says is unusable, whatever the header says', async () => {
  const png = await gradientImage(128, 128, 'png');
  const head = Buffer.from(png.subarray(16, 29));
  head.writeUInt32BE(256, 4);
  const bytes = Buffer.concat([png.subarray(0, 8), pngChunk('IHDR', head), png.subarray(33)]);
  for (const target of [undefined, { width: 128, height: 256 }, { width: 64, height: 64 }]) {
    await expect(finishImage(bytes, order({ target }), idle)).rejects.toMatchObject({
      code: 'upstream_invalid_response',
    });
  }
});

test.each(['png', 'jpeg'] as const)('a %s that is damaged is noticed', async (format) => {
  const whole = await gradientImage(640, 480, format);
  const cut = Buffer.concat([whole.subarray(0, whole.length / 2), Buffer.alloc(whole.length / 2)]);
  const finishing = finishImage(cut, order({ format }), idle);
  await expect(finishing).rejects.toMatchObject({ code: 'upstream_invalid_response' });
});

test('stops between two steps when told to', async () => {
  const stop = new AbortController();
  const finishing = finishImage(await gradientImage(512, 512, 'png'), order({ format: 'jpeg' }), stop.signal);
  stop.abort(new Error('cancelled'));
  await expect(finishing).rejects.toThrow('cancelled');
});
