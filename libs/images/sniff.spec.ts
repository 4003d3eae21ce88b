import sharp from 'sharp';
import { sniffImageType } from './sniff.js';

const plain = () => sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } });

test.each(['png', 'jpeg', 'webp'] as const)('knows a %s by its first bytes', async (type) => {
  expect(sniffImageType((await plain().toFormat(type).toBuffer()).subarray(0, 12))).toBe(type);
});

test('takes nothing else for an image', async () => {
  const gif = await plain().gif().toBuffer();
  const others = [
    gif,
    Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
    Buffer.from('RIFFxxxxWAVE'),
    Buffer.alloc(0),
  ];
  for (const bytes of others) expect(sniffImageType(bytes)).toBeUndefined();
});

test('says nothing while too few bytes have arrived', async () => {
  expect(sniffImageType((await plain().png().toBuffer()).subarray(0, 7))).toBeUndefined();
});
