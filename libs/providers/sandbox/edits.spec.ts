import sharp from 'sharp';
import { withPngHeight } from '#images/sample-images.fixture.js';
import type { ProviderImageRequest, ProviderInputImage } from '../image-provider.js';
import { bytesOf, contextOf, inputOf, resultOf, requestOf } from './sandbox-calls.fixture.js';
import { SandboxProvider } from './sandbox-provider.js';

const sandbox = new SandboxProvider();
const WIDTH = 320;
const HEIGHT = 192;

const edit = async (changes: Partial<ProviderImageRequest>): Promise<Buffer> =>
  bytesOf(
    await sandbox.generate(
      requestOf({ action: 'edit', prompt: 'a cat before mountains', width: WIDTH, height: HEIGHT, ...changes }),
      contextOf(),
    ),
  );

/** A noisy image, so that any change of any pixel shows. */
async function noise(width: number, height: number, channels: 3 | 4, type: 'png' | 'jpeg' = 'png') {
  const pixels = Buffer.alloc(width * height * channels);
  for (let index = 0; index < pixels.length; index++) pixels[index] = (index * 2_654_435_761) >>> 24;
  return inputOf(await sharp(pixels, { raw: { width, height, channels } }).toFormat(type).toBuffer());
}

/** A mask that is transparent in a rectangle and half transparent beside it. */
async function maskOf(width: number, height: number) {
  const pixels = Buffer.alloc(width * height * 4, 255);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const inside = x >= width / 4 && x < width / 2 && y >= height / 4 && y < height / 2;
      pixels[(y * width + x) * 4 + 3] = inside ? 0 : x >= width / 2 ? 128 : 255;
    }
  }
  return {
    pixels,
    image: await inputOf(
      await sharp(pixels, { raw: { width, height, channels: 4 } })
        .png()
        .toBuffer(),
    ),
  };
}

function compare(one: Buffer, other: Buffer, mask: Buffer, channels: number): { outside: number; inside: number } {
  const differing = { outside: 0, inside: 0 };
  for (let pixel = 0; pixel < mask.length / 4; pixel++) {
    const from = pixel * channels;
    const to = (pixel + 1) * channels;
    if (one.subarray(from, to).equals(other.subarray(from, to))) continue;
    differing[mask[pixel * 4 + 3] === 0 ? 'inside' : 'outside'] += 1;
  }
  return differing;
}

test.each([
  [3, 'png'],
  [4, 'png'],
  [3, 'jpeg'],
] as const)('a mask keeps every pixel outside it, bit for bit (%i channels, %s)', async (channels, type) => {
  const first = await noise(WIDTH, HEIGHT, channels, type);
  const mask = await maskOf(WIDTH, HEIGHT);
  const before = await sharp(first.bytes).raw().toBuffer();
  const after = await sharp(await edit({ images: [first], mask: mask.image }))
    .raw()
    .toBuffer();
  const { outside, inside } = compare(before, after, mask.pixels, channels);
  expect(outside).toBe(0);
  expect(inside).toBeGreaterThan((WIDTH * HEIGHT) / 16 / 2);
});

test('at another size the pixels outside are those of the scaled first image', async () => {
  const first = await noise(WIDTH * 2, HEIGHT * 3, 3);
  const mask = await maskOf(WIDTH * 2, HEIGHT * 3);
  const scaled = sharp(first.bytes).resize(WIDTH, HEIGHT, { fit: 'cover', kernel: 'lanczos3' });
  const before = await scaled.removeAlpha().raw().toBuffer();
  const after = await sharp(await edit({ images: [first], mask: mask.image }))
    .raw()
    .toBuffer();
  const cover = await sharp(mask.image.bytes)
    .resize(WIDTH, HEIGHT, { fit: 'cover', kernel: 'nearest' })
    .raw()
    .toBuffer();
  expect(compare(before, after, cover, 3)).toMatchObject({ outside: 0 });
});

test('a mask that frees nothing changes nothing and says so', async () => {
  const first = await noise(WIDTH, HEIGHT, 3);
  const mask = await noise(WIDTH, HEIGHT, 3);
  const solid = await inputOf(await sharp(mask.bytes).ensureAlpha(1).png().toBuffer());
  const answer = await sandbox.generate(requestOf({ action: 'edit', images: [first], mask: solid }), contextOf());
  const result = resultOf(answer);
  expect(result.warnings).toEqual([expect.stringContaining('nothing was changed')]);
  expect(await sharp(bytesOf(result)).raw().toBuffer()).toEqual(await sharp(first.bytes).raw().toBuffer());
});

test('refuses an image or a mask that only a decoder finds damaged, as others do', async () => {
  const whole = await noise(WIDTH, HEIGHT, 3);
  const opaque = await inputOf(await sharp(whole.bytes).ensureAlpha(0.5).png().toBuffer());
  const forged = ({ bytes, ...image }: ProviderInputImage): ProviderInputImage => {
    return { ...image, bytes: withPngHeight(bytes, HEIGHT + 200), height: HEIGHT + 200 };
  };
  for (const [images, mask, param] of [
    [[forged(whole)], undefined, 'image'],
    [[whole, forged(whole)], undefined, 'image'],
    [[whole], forged(opaque), 'mask'],
  ] as const) {
    const refused = { code: 'invalid_image_file', charged: 'no', retryable: false, param };
    await expect(sandbox.generate(requestOf({ action: 'edit', images, mask }), contextOf())).rejects.toMatchObject(
      refused,
    );
  }
});

test('without a mask the first image is restyled and stays recognizable', async () => {
  const half = Buffer.alloc(WIDTH * HEIGHT * 3).map((_, index) =>
    Math.floor(index / 3) % WIDTH < WIDTH / 2 ? 20 : 230,
  );
  const first = await inputOf(
    await sharp(half, { raw: { width: WIDTH, height: HEIGHT, channels: 3 } })
      .png()
      .toBuffer(),
  );
  const after = sharp(await edit({ images: [first] }));
  const [left, right] = await Promise.all(
    [0, WIDTH / 2].map(
      async (from) =>
        (
          await sharp(
            await after
              .clone()
              .extract({ left: from, top: 40, width: WIDTH / 2, height: 80 })
              .png()
              .toBuffer(),
          ).stats()
        ).channels[1]?.mean ?? 0,
    ),
  );
  expect((right ?? 0) - (left ?? 0)).toBeGreaterThan(25);
  expect(await after.clone().raw().toBuffer()).not.toEqual(half);
});

test('a cut-out gets a scene behind it and keeps its own pixels', async () => {
  const cutOut = Buffer.alloc(WIDTH * HEIGHT * 4);
  for (let y = 20; y < 60; y++) for (let x = 100; x < 200; x++) cutOut.set([10, 200, 30, 255], (y * WIDTH + x) * 4);
  const first = await inputOf(
    await sharp(cutOut, { raw: { width: WIDTH, height: HEIGHT, channels: 4 } })
      .png()
      .toBuffer(),
  );
  const { data, info } = await sharp(await edit({ images: [first] }))
    .raw()
    .toBuffer({ resolveWithObject: true });
  expect(info.channels).toBe(3);
  const at = (x: number, y: number): number[] => [...data.subarray((y * WIDTH + x) * 3, (y * WIDTH + x) * 3 + 3)];
  expect(at(150, 40)).toEqual([10, 200, 30]);
  expect(at(20, 100)).not.toEqual([0, 0, 0]);
});

test.each(['generation', 'edit'] as const)('further images of a %s can be seen in the image', async (action) => {
  const green = await inputOf(
    await sharp({ create: { width: 100, height: 100, channels: 3, background: '#00ff00' } })
      .png()
      .toBuffer(),
  );
  const first = await noise(WIDTH, HEIGHT, 3);
  const image = await sharp(await edit({ action, images: [first, green, green] }))
    .raw()
    .toBuffer();
  let greens = 0;
  for (let at = 0; at < image.length; at += 3)
    if (image[at] === 0 && image[at + 1] === 255 && image[at + 2] === 0) greens += 1;
  expect(greens).toBeGreaterThan(200);
});

test.each(['png', 'webp'] as const)('an edit can be given a transparent background in %s', async (outputFormat) => {
  const first = await noise(WIDTH, HEIGHT, 3);
  const { data, info } = await sharp(await edit({ images: [first], background: 'transparent', outputFormat }))
    .raw()
    .toBuffer({ resolveWithObject: true });
  expect(info.channels).toBe(4);
  expect(data[3]).toBe(0);
});
