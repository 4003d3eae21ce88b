import fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import sharp from 'sharp';
import { ImageError } from './image-error.js';
import { readInputImage, readMask } from './input-image.js';
import { openImage } from './sharp.js';
import {
  animatedAvif,
  animatedGif,
  avifThatClaims,
  exactAvif,
  gradientImage,
  heicStart,
  pixelsOf,
  pngBomb,
  withPngChunk,
} from './sample-images.fixture.js';

const SECRET = 'taken at home by Ada';

async function refusal(reading: Promise<unknown>): Promise<{ code: string; message: string }> {
  const outcome = await reading.then(
    () => 'accepted',
    (error: unknown) => error,
  );
  if (!(outcome instanceof ImageError)) throw new Error(`expected an ImageError, got ${String(outcome)}`);
  return { code: outcome.code, message: outcome.message };
}

describe('an input image', () => {
  test.each(['png', 'jpeg', 'webp'] as const)('keeps every pixel of a plain %s', async (type) => {
    const bytes = await gradientImage(200, 100, type);
    const image = await readInputImage(bytes);
    expect(image).toMatchObject({ contentType: `image/${type}`, width: 200, height: 100, hasAlpha: false });
    expect((await pixelsOf(image.bytes)).equals(await pixelsOf(bytes))).toBe(true);
  });

  test.each(['png', 'jpeg', 'webp'] as const)('loses the metadata and the tail of a %s, and no pixel', async (type) => {
    const written = await sharp(await gradientImage(200, 100, 'png'))
      .toFormat(type)
      .withExif({ IFD0: { Artist: SECRET }, IFD3: { GPSLatitude: '52/1 31/1 0/1', GPSLatitudeRef: 'N' } })
      .withXmp(`<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf>${SECRET}</rdf></x:xmpmeta>`)
      .toBuffer();
    const named = type === 'png' ? withPngChunk(written, 'tEXt', Buffer.from(`Comment\0${SECRET}`)) : written;
    const bytes = Buffer.concat([named, Buffer.from('<html><script>alert(1)</script></html>')]);
    expect(bytes.includes(SECRET)).toBe(true);
    const image = await readInputImage(bytes);
    const left = await sharp(image.bytes).metadata();
    expect({ exif: left.exif, xmp: left.xmp, comments: left.comments }).toEqual({});
    expect(image.bytes.includes(SECRET) || image.bytes.includes('<html>')).toBe(false);
    expect((await pixelsOf(image.bytes)).equals(await pixelsOf(named))).toBe(true);
  });

  test.each([3, 4] as const)('of AVIF becomes a PNG with every pixel, of %d channels', async (channels) => {
    const image = await readInputImage(await exactAvif(200, 100, channels));
    const hasAlpha = channels === 4;
    expect(image).toMatchObject({ contentType: 'image/png', width: 200, height: 100, hasAlpha, convertedFrom: 'avif' });
    expect(await sharp(image.bytes).metadata()).toMatchObject({
      format: 'png',
      hasAlpha,
      depth: 'uchar',
      space: 'srgb',
    });
    const visible = async (bytes: Buffer): Promise<Buffer> => pixelsOf(await sharp(bytes).flatten().png().toBuffer());
    const original = await gradientImage(200, 100, 'png', channels);
    expect((await visible(image.bytes)).equals(await visible(original))).toBe(true);
  });

  test.each([3, 4] as const)('of GIF becomes a PNG with every pixel, of %d channels', async (channels) => {
    const gif = await gradientImage(200, 100, 'gif', channels);
    const image = await readInputImage(gif);
    const hasAlpha = channels === 4;
    expect(image).toMatchObject({ contentType: 'image/png', width: 200, height: 100, hasAlpha, convertedFrom: 'gif' });
    expect(await sharp(image.bytes).metadata()).toMatchObject({ format: 'png', hasAlpha, space: 'srgb' });
    expect((await pixelsOf(image.bytes)).equals(await pixelsOf(gif))).toBe(true);
  });

  test('of AVIF stands upright, in sRGB of eight bits, without its metadata', async () => {
    const flat = await gradientImage(200, 100, 'png');
    const avif = await sharp(flat)
      .withExif({ IFD0: { Artist: SECRET } })
      .withXmp(`<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf>${SECRET}</rdf></x:xmpmeta>`)
      .withIccProfile('p3')
      .withMetadata({ orientation: 6 })
      .avif({ bitdepth: 10, quality: 95 })
      .toBuffer();
    expect(avif.includes(SECRET)).toBe(true);
    const image = await readInputImage(avif);
    expect(image).toMatchObject({ width: 100, height: 200, convertedFrom: 'avif' });
    expect(image.bytes.includes(SECRET)).toBe(false);
    const { icc, exif, xmp, depth } = await sharp(image.bytes).metadata();
    expect([icc, exif, xmp, depth]).toEqual([undefined, undefined, undefined, 'uchar']);
    expect(await meanDifference(image.bytes, await sharp(flat).rotate(90).png().toBuffer())).toBeLessThan(4);
  });

  test('of AVIF is refused if it would be too large as a PNG', async () => {
    const [edge, channels] = [3_800, 4] as const;
    const noise = sharp(randomBytes(channels * edge ** 2), { raw: { width: edge, height: edge, channels } });
    const avif = await noise.avif({ effort: 0, quality: 40 }).toBuffer();
    expect(avif.length).toBeLessThan(20_000_000);
    const { code, message } = await refusal(readInputImage(avif));
    expect([code, message]).toEqual(['image_file_too_large', expect.stringContaining('as a PNG')]);
  });

  test('of sixteen bits keeps its colors when it is turned', async () => {
    const color = { create: { width: 96, height: 80, channels: 3 as const, background: { r: 200, g: 80, b: 40 } } };
    const png = await sharp(color).withMetadata({ orientation: 6 }).toColorspace('rgb16').png().toBuffer();
    expect((await sharp(png).metadata()).icc).toBeDefined();
    const [r = 0, g = 0, b = 0] = await pixelsOf((await readInputImage(png)).bytes);
    for (const difference of [r - 200, g - 80, b - 40]) expect(Math.abs(difference)).toBeLessThanOrEqual(1);
  });

  test.each(['gif', 'avif'] as const)(
    'of %s is refused wherever it is cut off, and never anything else',
    async (type) => {
      const whole = await gradientImage(64, 64, type, 4);
      for (let size = 0; size < whole.length; size += 1 + Math.floor(size / 300)) {
        const { code } = await refusal(readInputImage(whole.subarray(0, size)));
        expect(['invalid_image_file', 'unsupported_image_media_type']).toContain(code);
      }
    },
  );

  test('keeps the color profile, which says what the pixels mean', async () => {
    const bytes = await sharp(await gradientImage(100, 100, 'png'))
      .jpeg()
      .withIccProfile('p3')
      .toBuffer();
    expect((await sharp((await readInputImage(bytes)).bytes).metadata()).icc).toBeDefined();
  });

  test('stands a turned photo upright and drops where it was taken', async () => {
    const flat = await gradientImage(200, 100, 'png');
    const turned = await sharp(flat)
      .jpeg({ quality: 100 })
      .withExif({ IFD0: { Orientation: '6' }, IFD3: { GPSLatitude: '52/1 31/1 0/1' } })
      .withMetadata({ orientation: 6 })
      .toBuffer();
    const image = await readInputImage(turned);
    expect(image).toMatchObject({ width: 100, height: 200 });
    expect((await sharp(image.bytes).metadata()).exif).toBeUndefined();
    const difference = await meanDifference(image.bytes, await sharp(flat).rotate(90).png().toBuffer());
    expect(difference).toBeLessThan(3);
  });

  test('names what is wrong with the bytes', async () => {
    const png = await gradientImage(200, 100, 'png');
    const jpeg = await gradientImage(200, 100, 'jpeg');
    const frames = { raw: { width: 64, height: 192, channels: 3 as const, pageHeight: 64 } };
    const animated = await sharp(await pixelsOf(await gradientImage(64, 192, 'png')), frames)
      .webp()
      .toBuffer();
    const hostile: [Buffer, string][] = [
      [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="99" height="99"/>'), 'unsupported_image_media_type'],
      [heicStart(), 'unsupported_image_media_type'],
      [await animatedGif(96, 80, 2), 'invalid_image_file'],
      [await animatedAvif(), 'invalid_image_file'],
      [await avifThatClaims(8_000, 8_000), 'image_too_large'],
      [await avifThatClaims(6_000, 4_000), 'image_too_large'],
      [await avifThatClaims(64, 64), 'invalid_image_file'],
      [await avifThatClaims(0xffffffff, 0xffffffff), 'invalid_image_file'],
      [await avifThatClaims(8, 8), 'image_too_small'],
      [gifThatClaims(await gradientImage(96, 80, 'gif'), 8_000), 'image_too_large'],
      [
        Buffer.from('RIFF<svgWEBPVP8 <svg xmlns="http://www.w3.org/2000/svg" width="99" height="99"/>'),
        'invalid_image_file',
      ],
      [pngBomb(16_000), 'image_too_large'],
      [png.subarray(0, Math.floor(png.length * 0.9)), 'invalid_image_file'],
      [jpeg.subarray(0, Math.floor(jpeg.length * 0.6)), 'invalid_image_file'],
      [animated, 'invalid_image_file'],
      [withPngChunk(png, 'acTL', Buffer.from([0, 0, 0, 2, 0, 0, 0, 0])), 'invalid_image_file'],
      [await gradientImage(1, 1, 'png'), 'image_too_small'],
      [Buffer.alloc(0), 'unsupported_image_media_type'],
    ];
    const codes = await Promise.all(hostile.map(async ([bytes]) => (await refusal(readInputImage(bytes))).code));
    expect(codes).toEqual(hostile.map(([, code]) => code));
  });

  test.each(['png', 'jpeg', 'webp', 'gif', 'avif'] as const)(
    'a mutated %s is read or refused, never anything else',
    async (type) => {
      const original = await gradientImage(96, 80, type);
      const edit = fc.record({ at: fc.nat(original.length - 1), value: fc.nat(255) });
      await fc.assert(
        fc.asyncProperty(
          fc.array(edit, { minLength: 1, maxLength: 8 }),
          fc.nat(original.length),
          async (edits, cut) => {
            const bytes = Buffer.from(cut % 3 === 0 ? original.subarray(0, cut) : original);
            for (const { at, value } of edits) if (at < bytes.length) bytes[at] = value;
            const outcome = await readInputImage(bytes).catch((error: unknown) => error);
            if (!(outcome instanceof ImageError))
              await openImage((outcome as { bytes: Buffer }).bytes)
                .raw()
                .toBuffer();
          },
        ),
        { numRuns: 150 },
      );
    },
  );
});

describe('a mask', () => {
  test('is taken with its alpha untouched', async () => {
    const bytes = await gradientImage(128, 64, 'png', 4);
    const mask = await readMask(bytes, { width: 128, height: 64 });
    expect(mask).toMatchObject({ width: 128, height: 64, hasAlpha: true });
    expect((await pixelsOf(mask.bytes)).equals(await pixelsOf(bytes))).toBe(true);
  });

  test('is refused with its reason', async () => {
    const first = { width: 128, height: 64 };
    const wrongSize = await refusal(readMask(await gradientImage(64, 128, 'png', 4), first));
    expect(wrongSize.code).toBe('invalid_mask');
    expect(wrongSize.message).toContain('64x128');
    expect(wrongSize.message).toContain('128x64');
    const noAlpha = await refusal(readMask(await gradientImage(128, 64, 'png'), first));
    expect(noAlpha).toMatchObject({ code: 'invalid_mask', message: expect.stringContaining('alpha') as string });
    const notPng = await refusal(readMask(await gradientImage(128, 64, 'webp', 4), first));
    const avif = await refusal(readMask(await exactAvif(128, 64, 4), first));
    expect(avif).toMatchObject({ code: 'invalid_mask', message: expect.stringContaining('PNG') as string });
    expect(notPng).toMatchObject({ code: 'invalid_mask', message: expect.stringContaining('PNG') as string });
    expect(await refusal(readMask(Buffer.alloc(4_000_001), first))).toMatchObject({ code: 'image_file_too_large' });
  });
});

/** A GIF of 96x80 pixels that claims a canvas and a frame of another size. */
function gifThatClaims(gif: Buffer, edge: number): Buffer {
  const bytes = Buffer.from(gif);
  const frame = bytes.indexOf(Buffer.from([0x2c, 0, 0, 0, 0, 96, 0, 80, 0]));
  for (const at of [6, 8, frame + 5, frame + 7]) bytes.writeUInt16LE(edge, at);
  return bytes;
}

async function meanDifference(one: Buffer, other: Buffer): Promise<number> {
  const [a, b] = await Promise.all([pixelsOf(one), pixelsOf(other)]);
  if (a.length !== b.length) return Infinity;
  return a.reduce((sum, value, index) => sum + Math.abs(value - (b[index] ?? 0)), 0) / a.length;
}
