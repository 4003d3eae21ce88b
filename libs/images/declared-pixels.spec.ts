import sharp from 'sharp';
import { declaredPixels } from './declared-pixels.js';
import { gradient, gradientImage } from './sample-images.fixture.js';
import { sniffInputType } from './sniff.js';

describe('declaredPixels', () => {
  const raw = { raw: { width: 320, height: 65, channels: 4 as const } };
  const image = () => sharp(gradient(320, 65, 4), raw);

  it.each([
    ['png', () => gradientImage(320, 65, 'png')],
    ['jpeg', () => gradientImage(320, 65, 'jpeg')],
    ['progressive jpeg', () => image().jpeg({ progressive: true }).toBuffer()],
    [
      'jpeg behind a long profile',
      () =>
        image()
          .jpeg()
          .withIccProfile('p3')
          .withExif({ IFD0: { Make: 'x'.repeat(9_000) } })
          .toBuffer(),
    ],
    ['webp', () => gradientImage(320, 65, 'webp')],
    ['webp with alpha', () => image().webp().toBuffer()],
    ['gif', () => gradientImage(320, 65, 'gif')],
    ['avif', () => gradientImage(320, 65, 'avif')],
    ['avif with alpha', () => gradientImage(320, 65, 'avif', 4)],
    ['webp without loss', () => image().webp({ lossless: true }).toBuffer()],
  ])('reads them from a %s, at whatever byte it is cut', async (_name, make) => {
    const bytes = await make();
    const type = sniffInputType(bytes) ?? 'png';
    expect(declaredPixels(bytes, type)).toEqual({ width: 320, height: 65 });
    const cuts = Array.from({ length: type === 'avif' ? bytes.length : 64 }, (_, n) => n);
    for (const cut of cuts)
      expect([undefined, { width: 320, height: 65 }]).toContainEqual(declaredPixels(bytes.subarray(0, cut), type));
  });

  it('finds none in what only begins like an image', () => {
    expect(declaredPixels(Buffer.from([0xff, 0xd8, 0xff, ...Buffer.alloc(40)]), 'jpeg')).toBeUndefined();
    expect(declaredPixels(Buffer.from('RIFF0000WEBPnope'.padEnd(40)), 'webp')).toBeUndefined();
  });
});
