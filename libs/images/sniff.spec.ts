import fc from 'fast-check';
import sharp from 'sharp';
import { exactAvif, heicStart } from './sample-images.fixture.js';
import { sniffImageType, sniffInputType, SNIFF_BYTES, unsupportedText } from './sniff.js';

const plain = () => sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } });

test.each(['png', 'jpeg', 'webp', 'gif'] as const)('knows a %s by its first bytes', async (type) => {
  const head = (await plain().toFormat(type).toBuffer()).subarray(0, 12);
  expect(sniffImageType(head)).toBe(type);
  expect(sniffInputType(head)).toBe(type);
});

test('knows an AVIF of a caller by its brands, and takes none from a provider', async () => {
  const head = (await exactAvif(96, 80)).subarray(0, SNIFF_BYTES);
  const branded = (major: string, ...others: string[]): Buffer =>
    Buffer.from(
      `\0\0\0${String.fromCharCode(16 + 4 * others.length)}ftyp${major}\0\0\0\0${others.join('')}meta`,
      'latin1',
    );
  for (const bytes of [
    head,
    branded('avif'),
    branded('avis'),
    branded('mif1', 'miaf', 'avif'),
    branded('msf1', 'avis'),
  ]) {
    expect([sniffInputType(bytes), sniffImageType(bytes)]).toEqual(['avif', undefined]);
  }
  // Brands end where their box does.
  for (const bytes of [
    branded('mif1', 'heic'),
    Buffer.concat([branded('mif1'), Buffer.from('avif')]),
    head.subarray(0, 11),
  ]) {
    expect(sniffInputType(bytes)).toBeUndefined();
  }
});

test('names HEIC, which phones send', () => {
  const accepted = 'must be a PNG, JPEG, WebP, AVIF or GIF image';
  expect(unsupportedText(heicStart(), 'image[0]')).toBe(
    `image[0] is a HEIC image, which is not supported: it ${accepted}`,
  );
  expect(unsupportedText(Buffer.from('<svg/>'), 'image[0]')).toBe(`image[0] ${accepted}`);
});

test('takes nothing else for an image', () => {
  const others = [
    Buffer.from('GIF90a'.padEnd(12)),
    Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
    Buffer.from('RIFFxxxxWAVE'),
    Buffer.alloc(0),
  ];
  for (const bytes of others) expect(sniffImageType(bytes)).toBeUndefined();
});

test('says nothing while too few bytes have arrived', async () => {
  expect(sniffImageType((await plain().png().toBuffer()).subarray(0, 7))).toBeUndefined();
});

test('decides by the first twelve bytes alone, whatever they are', () => {
  const marks = ['\x89PNG\r\n\x1a\n', '\xff\xd8\xff', 'RIFFsizeWEBP', 'RIFF', 'GIF89a', '<svg'].map((mark) =>
    Buffer.from(mark, 'latin1'),
  );
  const start = fc.oneof(
    fc.constantFrom(...marks),
    fc.uint8Array({ maxLength: 14 }).map((bytes) => Buffer.from(bytes)),
  );
  const file = fc.tuple(start, fc.uint8Array({ maxLength: 20 })).map((parts) => Buffer.concat(parts));
  fc.assert(
    fc.property(file, fc.uint8Array(), (head, more) => {
      const text = head.toString('latin1');
      const expected = text.startsWith('\x89PNG\r\n\x1a\n')
        ? 'png'
        : text.startsWith('\xff\xd8\xff')
          ? 'jpeg'
          : /^RIFF[^]{4}WEBP/.test(text)
            ? 'webp'
            : /^GIF8[79]a/.test(text)
              ? 'gif'
              : undefined;
      expect(sniffImageType(head)).toBe(expected);
      if (head.length >= 12) expect(sniffImageType(Buffer.concat([head, more]))).toBe(expected);
    }),
    { numRuns: 1_000 },
  );
});
