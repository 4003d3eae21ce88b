import sharp from 'sharp';
import { whiteMask } from './white-mask.js';

describe('a white mask', () => {
  it('is white where the mask is transparent, black where it is opaque, gray in between, and has no alpha', async () => {
    const width = 3;
    const height = 1;
    const pixels = Buffer.from(
      [
        [255, 0, 0, 0],
        [0, 255, 0, 255],
        [9, 9, 9, 55],
      ].flat(),
    );
    const bytes = await sharp(pixels, { raw: { width, height, channels: 4 } })
      .png()
      .toBuffer();
    const mask = await whiteMask({ bytes, contentType: 'image/png', width, height, hasAlpha: true });
    const { data, info } = await sharp(mask.bytes).raw().toBuffer({ resolveWithObject: true });
    const first = [...data].filter((_, index) => index % info.channels === 0);
    expect(first).toEqual([255, 0, 200]);
    expect(mask).toMatchObject({ width, height, contentType: 'image/png', hasAlpha: false });
    expect((await sharp(mask.bytes).metadata()).hasAlpha).toBe(false);
  });

  it('says that it can’t be decoded when it is none', async () => {
    const mask = { bytes: Buffer.from('mask'), contentType: 'image/png', width: 1, height: 1, hasAlpha: true } as const;
    await expect(whiteMask(mask)).rejects.toMatchObject({ name: 'ImageError' });
  });
});
