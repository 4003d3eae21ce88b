import sharp from 'sharp';
import { animatedGif, gradientImage } from './sample-images.fixture.js';
import { makeThumbnail } from './thumbnail.js';

describe('a thumbnail', () => {
  it.each([
    ['png', 1536, 864, 320, 180],
    ['jpeg', 600, 1400, 137, 320],
    ['webp', 1024, 1024, 320, 320],
    ['png', 200, 100, 200, 100],
  ] as const)('of a %s of %i x %i is a WebP of %i x %i', async (type, width, height, small, low) => {
    const thumbnail = await sharp(
      await makeThumbnail(await gradientImage(width, height, type, 3), { width, height }),
    ).metadata();
    expect(thumbnail).toMatchObject({ format: 'webp', width: small, height: low, hasAlpha: false });
  });

  it('is transparent where the image is', async () => {
    const half = { input: Buffer.from([255, 0, 0, 255]), raw: { width: 1, height: 1, channels: 4 } } as const;
    const image = await sharp({ create: { width: 640, height: 640, channels: 4, background: '#00000000' } })
      .composite([{ ...half, tile: false, left: 600, top: 600 }])
      .png()
      .toBuffer();
    const { data, info } = await sharp(await makeThumbnail(image, { width: 640, height: 640 }))
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect([info.width, info.channels, data[3]]).toEqual([320, 4, 0]);
  });

  it('of an animation is its first frame', async () => {
    const gif = await animatedGif(640, 400, 3);
    const thumbnail = await makeThumbnail(gif, { width: 640, height: 400 });
    const still = await sharp(gif, { page: 0 }).png().toBuffer();
    expect(await sharp(thumbnail).metadata()).toMatchObject({ format: 'webp', width: 320, height: 200 });
    expect(thumbnail.equals(await makeThumbnail(still, { width: 640, height: 400 }))).toBe(true);
  });

  it('is not waited for once its signal aborts', async () => {
    const reason = new Error('too late');
    const late = makeThumbnail(
      await gradientImage(640, 640, 'png'),
      { width: 640, height: 640 },
      AbortSignal.abort(reason),
    );
    await expect(late).rejects.toBe(reason);
  });

  it('says that it can’t be made of what is no image', async () => {
    await expect(makeThumbnail(Buffer.from('image'), { width: 1, height: 1 })).rejects.toMatchObject({
      name: 'ImageError',
    });
  });
});
