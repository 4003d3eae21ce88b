import sharp, { type Sharp } from 'sharp';
import { openResult } from './header.js';
import { gradientImage, pngBomb, pngChunk, withPngChunk } from './sample-images.fixture.js';

const gradient = (channels: 3 | 4 = 3): Promise<Buffer> => gradientImage(96, 80, 'png', channels);
const remade = async (change: (image: Sharp) => Sharp, channels: 3 | 4 = 3): Promise<Buffer> =>
  change(sharp(await gradient(channels))).toBuffer();

const KINDS: Readonly<Record<string, () => Promise<Buffer>>> = {
  'of colors': () => gradient(),
  'of colors with transparency': () => gradient(4),
  'of sixteen bits': () => remade((image) => image.toColorspace('rgb16').png()),
  'of grays': () => remade((image) => image.grayscale().toColorspace('b-w').png()),
  'of grays with transparency': () => remade((image) => image.grayscale().toColorspace('b-w').png(), 4),
  'of grays of sixteen bits': () => remade((image) => image.toColorspace('grey16').png()),
  'with a palette': () => remade((image) => image.png({ palette: true })),
  'with a palette with transparency': () => remade((image) => image.png({ palette: true }), 4),
  'with a transparent color': async () => withPngChunk(await gradient(), 'tRNS', Buffer.alloc(6)),
  interlaced: () => remade((image) => image.png({ progressive: true })),
  'with a color profile': () => remade((image) => image.withIccProfile('p3').png()),
  'that is to be turned': () => remade((image) => image.withMetadata({ orientation: 6 }).png()),
  'with text': async () => withPngChunk(await gradient(), 'tEXt', Buffer.from('Comment\0a text')),
};

test.each(Object.entries(KINDS))('a PNG %s says of itself what its decoder says', async (_name, make) => {
  const bytes = await make();
  const { header, file } = await openResult(bytes);
  const { hasAlpha, autoOrient, orientation = 1 } = await sharp(bytes).metadata();
  const { width, height } = autoOrient;
  const decoded = { hasAlpha, width, height, needsRotation: orientation > 1, needsRgbConversion: false };
  expect(header).toEqual({ type: 'png', isAnimated: false, ...decoded });
  expect(file.isVerified).toBe(true);
});

test.each([
  ['no width', (head: Buffer) => head.writeUInt32BE(0, 0)],
  ['no height', (head: Buffer) => head.writeUInt32BE(0, 4)],
  ['a kind of color that there is not', (head: Buffer) => head.writeUInt8(5, 9)],
])('a PNG of %s is damaged', async (_name, damage) => {
  const png = await gradient();
  const head = Buffer.from(png.subarray(16, 29));
  damage(head);
  const bytes = Buffer.concat([png.subarray(0, 8), pngChunk('IHDR', head), png.subarray(33)]);
  await expect(openResult(bytes)).rejects.toMatchObject({ code: 'invalid_image_file' });
});

test('a PNG of too many pixels is too large before anything is decoded', async () => {
  await expect(openResult(pngBomb(8_100))).rejects.toMatchObject({ code: 'image_too_large' });
});
