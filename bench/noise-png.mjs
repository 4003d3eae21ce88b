import sharp from 'sharp';

/** A PNG of `side` x `side` pixels, as large as a provider's photo: noise that deflate compresses to about half. */
export async function noisePng(side) {
  const noise = { type: 'gaussian', mean: 128, sigma: 6 };
  return await sharp({ create: { width: side, height: side, channels: 3, noise } })
    .png()
    .toBuffer();
}
