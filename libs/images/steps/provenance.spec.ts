import sharp, { type Sharp } from 'sharp';
import { credentialsOf, withCredentials } from '../content-credentials.fixture.js';
import { itWithExifTool, readMetadata } from '../exiftool.fixture.js';
import { readInputImage } from '../input-image.js';
import { gradientImage, pixelsOf, withPngChunk } from '../sample-images.fixture.js';
import { finishedFile } from './finished-file.fixture.js';
import type { FinishOrder } from './step.js';
import { stripMetadata } from '../strip-metadata.fixture.js';

const TYPES = ['png', 'jpeg', 'webp'] as const;
const SIGNED = ['png', 'jpeg'] as const;
const MARK = { taskId: 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A', action: 'generation', tool: 'Darkroom 1.0.0' } as const;
const SOURCE = 'XMP-iptcExt:DigitalSourceType';
const XMP = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/" dc:source="of the provider"/></rdf:RDF></x:xmpmeta>`;

function finish(bytes: Buffer, order: Partial<FinishOrder>): ReturnType<typeof finishedFile> {
  const plain = {
    target: undefined,
    format: 'png',
    compression: undefined,
    background: undefined,
    mark: MARK,
  } as const;
  return finishedFile(bytes, { ...plain, ...order }, new AbortController().signal);
}

async function encoded(type: (typeof TYPES)[number], metadata: (image: Sharp) => Sharp): Promise<Buffer> {
  return metadata(sharp(await gradientImage(96, 80, 'png')))
    .toFormat(type)
    .toBuffer();
}

/** With the XMP of a provider. In a PNG, sharp would hide it in a compressed chunk. */
async function withXmp(type: (typeof TYPES)[number], metadata = (image: Sharp) => image): Promise<Buffer> {
  if (type !== 'png') return encoded(type, (image) => metadata(image).withXmp(XMP));
  return withPngChunk(await encoded(type, metadata), 'iTXt', Buffer.from(`XML:com.adobe.xmp\0\0\0\0\0${XMP}`));
}

function jpegSegment(marker: number, content: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([head, content]);
}

function withJpegSegment(jpeg: Buffer, marker: number, content: Buffer): Buffer {
  return Buffer.concat([jpeg.subarray(0, 2), jpegSegment(marker, content), jpeg.subarray(2)]);
}

function withWebpChunk(webp: Buffer, type: string, content: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(type, 'latin1');
  head.writeUInt32LE(content.length, 4);
  const file = Buffer.concat([webp, head, content, Buffer.alloc(content.length % 2)]);
  file.writeUInt32LE(file.length - 8, 4);
  return file;
}

describe('an image as its provider made it', () => {
  test.each(SIGNED)('with content credentials: a %s keeps every byte, and they still hold', async (format) => {
    const signed = await withCredentials(await gradientImage(96, 80, format), format);
    const image = await finish(signed, { format });
    expect(image.provenance).toBe('kept');
    expect(image.bytes.equals(signed)).toBe(true);
    const { valid, found } = await credentialsOf(image.bytes, format);
    expect(valid).toBe(true);
    expect(found).toContain('assertion.dataHash.match');
    const broken = Buffer.from(signed);
    broken.writeUInt8(broken.readUInt8(broken.length - 30) ^ 1, broken.length - 30);
    expect(await credentialsOf(broken, format)).toMatchObject({ valid: false });
  });

  test('with credentials in many segments of a jpeg, and a color profile', async () => {
    const jpeg = await encoded('jpeg', (image) => image.withIccProfile('p3'));
    const plain = await withCredentials(await stripMetadata(jpeg, 'jpeg'), 'jpeg', 200_000);
    expect(plain.length).toBeGreaterThan(3 * 65_536);
    const image = await finish(plain, { format: 'jpeg' });
    expect(image.provenance).toBe('kept');
    expect(image.bytes.equals(plain)).toBe(true);
    expect(await credentialsOf(plain, 'jpeg')).toMatchObject({ valid: true });
  });

  test('with credentials and a resolution in a png', async () => {
    const resolution = Buffer.from([0, 0, 0x0b, 0x13, 0, 0, 0x0b, 0x13, 1]);
    const signed = await withCredentials(withPngChunk(await gradientImage(96, 80, 'png'), 'pHYs', resolution), 'png');
    expect((await finish(signed, {})).bytes.equals(signed)).toBe(true);
  });

  test('with credentials in a webp', async () => {
    const webp = withWebpChunk(
      await encoded('webp', (image) => image.withIccProfile('p3')),
      'C2PA',
      Buffer.alloc(999, 7),
    );
    const image = await finish(webp, { format: 'webp' });
    expect(image.provenance).toBe('kept');
    expect(image.bytes.equals(webp)).toBe(true);
  });

  itWithExifTool.each(TYPES)('with XMP: a %s keeps every byte', async (format) => {
    const bytes = await withXmp(format);
    const image = await finish(bytes, { format });
    expect(image.provenance).toBe('kept');
    expect(image.bytes.equals(bytes)).toBe(true);
    expect(await readMetadata(image.bytes)).toMatchObject({ 'XMP-dc:Source': 'of the provider' });
  });

  itWithExifTool.each(TYPES)('with XMP and EXIF: a %s keeps XMP byte for byte and loses EXIF', async (format) => {
    const bytes = await withXmp(format, (image) => image.withExif({ IFD0: { Artist: 'Ada' } }));
    const image = await finish(bytes, { format });
    expect(image.provenance).toBe('kept');
    expect(image.bytes.includes(XMP)).toBe(true);
    expect(await readMetadata(bytes)).toMatchObject({ 'IFD0:Artist': 'Ada' });
    const found = await readMetadata(image.bytes);
    expect(found).toMatchObject({ 'XMP-dc:Source': 'of the provider' });
    expect(Object.keys(found).filter((name) => name.startsWith('IFD0') || name === 'ExifTool:Warning')).toEqual([]);
    expect((await pixelsOf(image.bytes)).equals(await pixelsOf(bytes))).toBe(true);
  });

  const personal = {
    png: (png: Buffer) => withPngChunk(png, 'tEXt', Buffer.from('prompt\0a secret')),
    jpeg: (jpeg: Buffer) => withJpegSegment(jpeg, 0xfe, Buffer.from('a secret')),
  };

  itWithExifTool.each(SIGNED)('with credentials and a secret: a %s loses both and is marked', async (format) => {
    const clean = await gradientImage(96, 80, format);
    const secret = Buffer.from('a secret');
    for (const dirty of [
      await withCredentials(personal[format](clean), format),
      personal[format](await withCredentials(clean, format)),
      Buffer.concat([await withCredentials(clean, format), secret]),
    ]) {
      const image = await finish(dirty, { format });
      expect(image.provenance).toBe('marked');
      expect(image.bytes.includes(secret)).toBe(false);
      expect(await credentialsOf(image.bytes, format)).toEqual({ valid: false, found: [] });
      expect(await readMetadata(image.bytes)).toHaveProperty([SOURCE]);
      expect((await pixelsOf(image.bytes)).equals(await pixelsOf(clean))).toBe(true);
    }
  });

  test('boxes of a jpeg that are no credentials, and compressed or huge XMP, count as personal', async () => {
    const jpeg = await gradientImage(96, 80, 'jpeg');
    const box = Buffer.from('JP\0\x01\0\0\0\x01\0\0\0\x20jumb\0\0\0\x18jumdfree0000000000000000a secret');
    const png = await gradientImage(96, 80, 'png');
    const zipped = withPngChunk(png, 'iTXt', Buffer.from('XML:com.adobe.xmp\0\x01\0\0\0a secret'));
    const huge = withPngChunk(
      png,
      'iTXt',
      Buffer.concat([Buffer.from('XML:com.adobe.xmp\0\0\0\0\0'), Buffer.alloc(1_000_001, 'a secret')]),
    );
    for (const [bytes, format] of [
      [withJpegSegment(jpeg, 0xeb, box), 'jpeg'],
      [zipped, 'png'],
      [huge, 'png'],
    ] as const) {
      const image = await finish(bytes, { format });
      expect(image.provenance).toBe('marked');
      expect(image.bytes.includes('a secret')).toBe(false);
    }
  });

  test('is stripped of everything when marks are switched off, and so is an input', async () => {
    for (const format of SIGNED) {
      const signed = await withCredentials(await withXmp(format), format);
      const off = await finish(signed, { format, mark: undefined });
      expect(off.provenance).toBe('none');
      for (const bytes of [off.bytes, (await readInputImage(signed)).bytes]) {
        expect(await credentialsOf(bytes, format)).toEqual({ valid: false, found: [] });
        expect(bytes.includes('xmpmeta')).toBe(false);
        expect((await pixelsOf(bytes)).equals(await pixelsOf(signed))).toBe(true);
      }
    }
  });
});

/** What a decoder says of an image before it decodes it. */
async function looks(bytes: Buffer): Promise<unknown> {
  const { format, width, height, channels, depth, space, hasAlpha, icc } = await sharp(bytes).metadata();
  return { format, width, height, channels, depth, space, hasAlpha, icc };
}

describe('a mark', () => {
  itWithExifTool.each(TYPES)(
    'stands in a %s as independent readers expect it, and changes no pixel',
    async (format) => {
      const sources = [
        await gradientImage(96, 80, format),
        await gradientImage(97, 81, format, format === 'jpeg' ? 3 : 4),
      ];
      const lossless = await sharp(await gradientImage(95, 79, 'png', 4))
        .webp({ lossless: true })
        .toBuffer();
      const profiled = await encoded(format, (image) =>
        image.withIccProfile('p3').withExif({ IFD0: { Artist: 'Ada' } }),
      );
      for (const bytes of [...sources, profiled, ...(format === 'webp' ? [lossless] : [])]) {
        const marked = await finish(bytes, { format });
        const bare = await finish(bytes, { format, mark: undefined });
        expect(marked.provenance).toBe('marked');
        const found = await readMetadata(marked.bytes);
        expect(found).toMatchObject({
          [SOURCE]: 'http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia',
          'XMP-xmp:CreatorTool': 'Darkroom 1.0.0',
          'XMP-dc:Identifier': MARK.taskId,
        });
        expect(found).not.toHaveProperty(['ExifTool:Warning']);
        expect((await pixelsOf(marked.bytes)).equals(await pixelsOf(bytes))).toBe(true);
        expect(await looks(marked.bytes)).toEqual(await looks(bytes));
        expect(marked.bytes.length - bare.bytes.length).toBeLessThan(1_100);
      }
    },
  );

  itWithExifTool('of an edit says that a part of it may be no model’s', async () => {
    const image = await finish(await gradientImage(96, 80, 'png'), { mark: { ...MARK, action: 'edit' } });
    expect(await readMetadata(image.bytes)).toMatchObject({
      [SOURCE]: 'http://cv.iptc.org/newscodes/digitalsourcetype/compositeWithTrainedAlgorithmicMedia',
    });
  });

  itWithExifTool('takes the place of credentials and XMP when pixels or format change', async () => {
    const signed = await withCredentials(await withXmp('png'), 'png');
    for (const change of [{ format: 'jpeg' }, { format: 'webp' }, { target: { width: 64, height: 64 } }] as const) {
      const image = await finish(signed, change);
      expect(image.provenance).toBe('marked');
      const found = await readMetadata(image.bytes);
      expect(found).toMatchObject({ 'XMP-dc:Identifier': MARK.taskId });
      expect(found).not.toHaveProperty(['XMP-dc:Source']);
      expect(Object.keys(found).filter((name) => /jumbf|c2pa/i.test(name))).toEqual([]);
    }
  });

  test('can be set again and again: there is one of them', async () => {
    for (const format of TYPES) {
      const once = (await finish(await gradientImage(96, 80, format), { format })).bytes;
      const bare = await stripMetadata(once, format);
      const twice = (await finish(bare, { format })).bytes;
      expect(twice.equals(once)).toBe(true);
    }
  });

  test('comes before the pixels of a png, and behind JFIF in a jpeg', async () => {
    const png = (await finish(await gradientImage(96, 80, 'png'), {})).bytes;
    expect(png.indexOf('iTXt')).toBe(8 + 25 + 4);
    const jpeg = await gradientImage(96, 80, 'jpeg');
    const jfif = jpegSegment(0xe0, Buffer.from('JFIF\0\x01\x02\0\0\x01\0\x01\0\0'));
    const comment = jpegSegment(0xfe, Buffer.from('a secret'));
    for (const [start, at] of [
      [[], 6],
      [[jfif], 24],
      [[comment, jfif], 24],
    ] as const) {
      const bytes = Buffer.concat([jpeg.subarray(0, 2), ...start, jpeg.subarray(2)]);
      const marked = (await finish(bytes, { format: 'jpeg' })).bytes;
      expect(marked.indexOf('http://ns.adobe.com/xap/1.0/')).toBe(at);
      expect(marked.includes('a secret')).toBe(false);
    }
  });

  test('does not bring to life what a decoder passes over in a webp', async () => {
    const webp = withWebpChunk(await gradientImage(96, 80, 'webp'), 'ICCP', Buffer.from('no color profile'));
    const image = await finish(webp, { format: 'webp' });
    expect(image.bytes.includes('ICCP')).toBe(false);
    expect((await pixelsOf(image.bytes)).equals(await pixelsOf(webp))).toBe(true);
  });
});
