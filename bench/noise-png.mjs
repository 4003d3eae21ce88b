import sharp from 'sharp';

/** A PNG of `side` x `side` pixels that is as long as a photograph of a provider: noise that deflate can take about half of. */
export async function noisePng(side) {
  const noise = { type: 'gaussian', mean: 128, sigma: 6 };
  return await sharp({ create: { width: side, height: side, channels: 3, noise } })
    .png()
    .toBuffer();
}
