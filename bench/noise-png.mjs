import sharp from 'sharp';

/** A PNG of `side` x `side` pixels, as large as a provider's photo: noise that deflate compresses to about half. */
export async function noisePng(side) {
  const noise = { type: 'gaussian', mean: 128, sigma: 6 };
  return await sharp({ create: { width: side, height: side, channels: 3, noise } })
    .png()
    .toBuffer();
}

/** A PNG of `side` x `side` pixels in one color, which is decoded quickly. */
export async function plainPng(side) {
  return await sharp({ create: { width: side, height: side, channels: 3, background: '#5577aa' } })
    .png()
    .toBuffer();
}
