import fc from 'fast-check';
import sharp from 'sharp';
import { plainAvif, readAvif } from './avif-boxes.js';
import { FileParts, type AvifImage } from './file-parts.js';
import { FileStructure, FileWatch } from './file-structure.js';
import { FileWalk } from './file-walk.js';
import { exactAvif, gradient, pixelsOf } from './sample-images.fixture.js';
import { stripMetadata } from './strip-metadata.fixture.js';

const SECRET = 'taken at home by Ada';

/** What a file says of its image. */
function imageOf(bytes: Buffer): AvifImage {
  const parts = new FileParts();
  new FileWalk(readAvif(parts)).take(bytes);
  if (parts.avif === undefined) throw new Error('no image was found');
  return parts.avif;
}

/** A box of a real file, with the bytes around it. */
function boxAt(bytes: Buffer, type: string): { start: number; end: number } {
  const start = bytes.indexOf(type, 0, 'latin1') - 4;
  return { start, end: start + bytes.readUInt32BE(start) };
}

function box(type: string, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(body.length + 8);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, body]);
}

const code = (expected: string): Error => expect.objectContaining({ code: expected }) as Error;

describe('the boxes of an AVIF', () => {
  const raw = { raw: { width: 96, height: 80, channels: 4 as const } };
  const image = () => sharp(gradient(96, 80, 4), raw);

  test.each([
    ['of colors', () => image().removeAlpha().avif()],
    ['with transparency', () => image().avif()],
    ['of ten bits', () => image().avif({ bitdepth: 10 })],
    ['without loss', () => image().avif({ lossless: true })],
    ['that is to be turned', () => image().removeAlpha().withMetadata({ orientation: 6 }).avif()],
    ['with a color profile', () => image().withIccProfile('p3').avif()],
    [
      'with metadata',
      () =>
        image()
          .withExif({ IFD0: { Artist: SECRET } })
          .withXmp(`<x:xmpmeta xmlns:x="adobe:ns:meta/">${SECRET}</x:xmpmeta>`)
          .avif(),
    ],
  ])('%s are written anew for the decoder, with the same pixels and without metadata', async (_name, make) => {
    const bytes = await make().toBuffer();
    const plain = await stripMetadata(bytes, 'avif');
    expect(plain.includes(SECRET)).toBe(false);
    const [{ exif, xmp, icc, ...header }, original] = await Promise.all([
      sharp(plain).metadata(),
      sharp(bytes).metadata(),
    ]);
    expect([exif, xmp, icc]).toEqual([undefined, undefined, original.icc]);
    const { width, height, hasAlpha, depth } = original;
    expect(header).toMatchObject({ width, height, hasAlpha, depth });
    expect((await pixelsOf(plain)).equals(await pixelsOf(bytes))).toBe(true);
  });

  test('are the same however the file is cut into pieces, and whatever follows it', async () => {
    const bytes = await exactAvif(96, 80, 4);
    const image = imageOf(bytes);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 400 }), fc.uint8Array({ maxLength: 64 }), (size, tail) => {
        const parts = new FileParts();
        const walk = new FileWalk(readAvif(parts));
        const whole = Buffer.concat([bytes, tail]);
        for (let at = 0; at < whole.length; at += size) walk.take(whole.subarray(at, at + size));
        expect([parts.avif, walk.ended]).toEqual([image, true]);
      }),
      { numRuns: 100 },
    );
  });

  test('may come behind the pixels', async () => {
    const bytes = await exactAvif(96, 80);
    const [ftyp, meta, mdat] = ['ftyp', 'meta', 'mdat'].map((type) => {
      const { start, end } = boxAt(bytes, type);
      return bytes.subarray(start, end);
    }) as [Buffer, Buffer, Buffer];
    const moved = Buffer.from(meta);
    const was = Buffer.alloc(4);
    was.writeUInt32BE(imageOf(bytes).color.start);
    moved.writeUInt32BE(ftyp.length + 8, moved.indexOf(was));
    const turned = Buffer.concat([ftyp, mdat, moved]);
    const plain = await stripMetadata(turned, 'avif');
    expect((await pixelsOf(plain)).equals(await pixelsOf(bytes))).toBe(true);
  });

  test.each([
    ['tiles', 'av01', 'grid', 'several tiles'],
    ['HEVC', 'av01', 'hvc1', 'not encoded as AV1'],
  ])('with %s instead of one image of AV1 are refused by name', async (_name, type, other, words) => {
    const bytes = await exactAvif(96, 80);
    bytes.write(other, bytes.indexOf(type), 'latin1');
    const error = expect.objectContaining({
      code: 'unsupported_image_media_type',
      message: expect.stringContaining(words) as string,
    }) as Error;
    expect(() => {
      new FileWatch('avif').take(bytes);
    }).toThrow(error);
    await expect(FileStructure.of(bytes, 'avif')).rejects.toEqual(error);
  });
});

describe('a poison AVIF', () => {
  test('with more frames than a still image needs is refused before it is decoded', async () => {
    const bytes = await exactAvif(96, 80);
    const { color, ...rest } = imageOf(bytes);
    const data = bytes.subarray(color.start, color.end);
    const repeated = (times: number): [Buffer, AvifImage] => [
      Buffer.concat([bytes, ...Array<Buffer>(times).fill(data)]),
      { ...rest, color: { ...color, start: bytes.length, end: bytes.length + times * data.length } },
    ];
    await expect(plainAvif(...repeated(5))).rejects.toThrow(code('invalid_image_file'));
    await expect(plainAvif(...repeated(1))).resolves.toBeInstanceOf(Buffer);
  });

  test('with millions of units, boxes, items, references, or properties is refused in bounded steps', async () => {
    const bytes = await exactAvif(96, 80);
    const { color, ...rest } = imageOf(bytes);
    // Padding of no bytes.
    const units = Buffer.alloc(20_000_000, Buffer.from([0x7a, 0x00]));
    const padded = { ...rest, color: { ...color, start: 0, end: units.length } };
    await expect(plainAvif(units, padded)).rejects.toThrow(code('invalid_image_file'));
    const full = (content: Buffer): Buffer => Buffer.concat([Buffer.alloc(4), content]);
    const many = Buffer.alloc(900_000);
    const numbers = Buffer.alloc(900_000, Buffer.from([0xff, 0xff]));
    const metas = [
      box('free', Buffer.alloc(2_000_000)),
      Buffer.alloc(900_000, box('free')),
      box('iloc', full(Buffer.concat([Buffer.from([0, 0, 0xff, 0xff]), many]))),
      box('iref', full(Buffer.alloc(900_000, box('auxl', Buffer.alloc(4))))),
      box('iref', full(box('auxl', numbers))),
      box('iprp', box('ipma', full(numbers))),
      box('iprp', box('ipco', Buffer.alloc(900_000, box('ispe')))),
    ];
    const { start } = boxAt(bytes, 'meta');
    for (const content of metas) {
      const file = Buffer.concat([bytes.subarray(0, start), box('meta', full(content))]);
      expect(() => {
        new FileWatch('avif').take(file);
      }).toThrow(code('invalid_image_file'));
    }
    const boxes = Buffer.concat([bytes.subarray(0, start), Buffer.alloc(900_000, box('free'))]);
    await expect(FileStructure.of(boxes, 'avif')).rejects.toThrow(code('invalid_image_file'));
  });

  test('is read or refused, with any of its bytes changed', async () => {
    const bytes = await exactAvif(96, 80, 4);
    for (let at = 0; at < bytes.length; at++) {
      for (const value of [0, 1, 0x7f, 0xff]) {
        const changed = Buffer.from(bytes);
        changed[at] = value;
        const found = await stripMetadata(changed, 'avif').catch((error: unknown) => error);
        if (found instanceof Buffer) expect(found.length).toBeLessThanOrEqual(bytes.length + 400);
        else expect(found).toMatchObject({ name: 'ImageError' });
      }
    }
  });
});
