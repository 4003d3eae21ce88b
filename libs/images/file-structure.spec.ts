import fc from 'fast-check';
import sharp from 'sharp';
import { MAX_FILE_PARTS } from './file-parts.js';
import { FileStructure, FileWatch, WALK_BYTES } from './file-structure.js';
import { openInput } from './header.js';
import { ImageError } from './image-error.js';
import { readInputImage } from './input-image.js';
import { MAX_SCANS } from './jpeg-segments.js';
import { gradientImage, jpegOfScans, pixelsOf, pngChunk, withPngChunk } from './sample-images.fixture.js';
import { sniffImageType, type ImageType } from './sniff.js';

const TYPES = ['png', 'jpeg', 'webp'] as const;
const BIG = 49_800_000;

/** Both ways through a file must agree: all at once in a worker, and piece by piece while it arrives. */
async function outcome(bytes: Buffer, type: ImageType, pieceBytes = bytes.length): Promise<string | FileStructure> {
  const watch = new FileWatch(type);
  let watched: Error | undefined;
  try {
    for (let at = 0; at < bytes.length; at += pieceBytes) watch.take(bytes.subarray(at, at + pieceBytes));
  } catch (error) {
    watched = error as Error;
  }
  const whole = await FileStructure.of(bytes, type).catch((error: unknown) => error as Error);
  if (whole instanceof FileStructure) {
    if (watched !== undefined) throw watched;
    return whole;
  }
  if (!(whole instanceof ImageError) || whole.code !== 'invalid_image_file') throw whole;
  if (watched !== undefined && (!(watched instanceof ImageError) || watched.code !== whole.code)) throw watched;
  return watched === undefined ? 'refused at its end' : 'refused on its way';
}

/** How often others had their turn while the work went on. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  const state = { turns: 0, over: false };
  const count = (): void => {
    state.turns += 1;
    if (!state.over) setImmediate(count);
  };
  setImmediate(count);
  await work;
  state.over = true;
  return state.turns;
}

function repeated(unit: number[], bytes: number): Buffer {
  return Buffer.alloc(bytes - (bytes % unit.length), Buffer.from(unit));
}

async function padded(type: 'jpeg' | 'png', padding: Buffer): Promise<Buffer> {
  const image = await gradientImage(96, 80, type);
  const at = type === 'jpeg' ? 2 : 33;
  return Buffer.concat([image.subarray(0, at), padding, image.subarray(at)]);
}

function webpChunk(type: string, size: number, content = Buffer.alloc(size + (size % 2))): Buffer {
  const head = Buffer.alloc(8);
  head.write(type, 'latin1');
  head.writeUInt32LE(size, 4);
  return Buffer.concat([head, content]);
}

async function paddedWebp(padding: Buffer): Promise<Buffer> {
  const image = await gradientImage(96, 80, 'webp');
  const bytes = Buffer.concat([image, padding]);
  bytes.writeUInt32LE(bytes.length - 8, 4);
  return bytes;
}

describe('H3: a poison image', () => {
  test('with 24.9 million restart markers is refused while it arrives, and before anything is decoded', async () => {
    const restarts = repeated(
      [0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7].flatMap((code) => [0xff, code]),
      BIG,
    );
    const poison = await padded('jpeg', restarts);
    const watch = new FileWatch('jpeg');
    expect(() => {
      watch.take(poison.subarray(0, 32_768));
    }).toThrow(expect.objectContaining({ code: 'invalid_image_file' }) as Error);
    await expect(readInputImage(poison)).rejects.toMatchObject({ code: 'invalid_image_file' });
  });

  test('with more scans than any image needs is refused while it arrives, and before anything is decoded', async () => {
    const poison = jpegOfScans(MAX_SCANS + 1);
    expect(await outcome(poison.subarray(0, -2), 'jpeg', 100)).toBe('refused on its way');
    for (const read of [openInput, readInputImage]) {
      await expect(read(poison)).rejects.toMatchObject({ code: 'invalid_image_file' });
    }
    const most = jpegOfScans(MAX_SCANS);
    const progressive = await sharp(await gradientImage(96, 80, 'png'))
      .jpeg({ progressive: true })
      .toBuffer();
    for (const bytes of [most, progressive]) {
      expect(await outcome(bytes, 'jpeg', 100)).toBeInstanceOf(FileStructure);
      expect(await readInputImage(bytes)).toMatchObject({ width: 96, height: 80 });
    }
  });

  test('with millions of empty chunks or segments is refused in a few slices', async () => {
    const comments = repeated([0xff, 0xfe, 0, 2], BIG);
    const texts = Buffer.alloc(BIG - (BIG % 12), pngChunk('tEXt', Buffer.alloc(0)));
    const unknown = Buffer.alloc(BIG - (BIG % 8), webpChunk('JUNK', 0));
    for (const [type, bytes] of [
      ['jpeg', await padded('jpeg', comments)],
      ['png', await padded('png', texts)],
      ['webp', await paddedWebp(unknown)],
    ] as const) {
      expect(await outcome(bytes, type, 65_536)).toBe('refused on its way');
      await expect(readInputImage(bytes)).rejects.toMatchObject({ code: 'invalid_image_file' });
    }
  });

  test('of 25 million stuffed bytes, restart markers in a scan, or fill bytes is walked in slices', async () => {
    const image = await gradientImage(96, 80, 'jpeg');
    const inScan = image.length - 2;
    for (const [at, unit] of [
      [inScan, [0xff, 0x00]],
      [inScan, [0xff, 0xd0]],
      [2, [0xff]],
      [inScan, [0x11]],
    ] as const) {
      const bytes = Buffer.concat([image.subarray(0, at), repeated([...unit], BIG), image.subarray(at)]);
      const walking = outcome(bytes, 'jpeg', 65_536);
      const turns = await turnsDuring(walking);
      const structure = await walking;
      expect(structure).toBeInstanceOf(FileStructure);
      expect((structure as FileStructure).ranges).toBeLessThanOrEqual(2);
      expect(turns).toBeGreaterThanOrEqual(Math.floor(BIG / WALK_BYTES));
    }
  });

  test('whose chunks are as many as allowed is taken in no more buffers than that', async () => {
    const png = await gradientImage(96, 80, 'png');
    const pairs = Buffer.concat([pngChunk('tEXt', Buffer.from('a\0b')), pngChunk('gAMA', Buffer.alloc(4, 1))]);
    const most = Math.floor((MAX_FILE_PARTS - 10) / 2);
    const bytes = Buffer.concat([png.subarray(0, 33), Buffer.alloc(pairs.length * most, pairs), png.subarray(33)]);
    const structure = await FileStructure.of(bytes, 'png');
    expect(structure.ranges).toBeLessThanOrEqual(most + 2);
    expect(Buffer.concat(await structure.image()).includes('tEXt')).toBe(false);
  });

  test('with 45 MB of text, XMP or zipped text never hands them to the decoder', async () => {
    const text = Buffer.alloc(45_000_000, 'x');
    const png = withPngChunk(await gradientImage(96, 80, 'png'), 'tEXt', Buffer.concat([Buffer.from('a\0'), text]));
    const extended = await sharp(await gradientImage(96, 80, 'png'))
      .webp()
      .withXmp(`<x:xmpmeta xmlns:x="adobe:ns:meta/"></x:xmpmeta>`)
      .withExif({ IFD0: { Artist: 'Ada' } })
      .toBuffer();
    const webp = Buffer.concat([extended, webpChunk('EXIF', 2_000_000), webpChunk('XMP ', text.length, text)]);
    webp.writeUInt32LE(webp.length - 8, 4);
    for (const [type, bytes] of [
      ['png', png],
      ['webp', webp],
    ] as const) {
      const readable = Buffer.concat(await (await FileStructure.of(bytes, type)).readable());
      expect(readable.length).toBeLessThan(1_000_000);
      expect(await sharp(readable).metadata()).toMatchObject({ width: 96, height: 80 });
      expect((await sharp(readable).metadata()).xmp).toBeUndefined();
      expect(await readInputImage(bytes)).toMatchObject({ width: 96, height: 80 });
    }
  });

  test('with a color profile of 5 MB is refused', async () => {
    const png = withPngChunk(await gradientImage(96, 80, 'png'), 'iCCP', Buffer.alloc(5_000_000));
    await expect(readInputImage(png)).rejects.toMatchObject({ code: 'invalid_image_file' });
  });
});

describe('the structure of a file', () => {
  test.each(TYPES)('of a %s is the same however it is cut into pieces, and keeps every pixel', async (type) => {
    const bytes = await sharp(await gradientImage(96, 80, 'png'))
      .toFormat(type)
      .withExif({ IFD0: { Artist: 'Ada' } })
      .withIccProfile('p3')
      .toBuffer();
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 400 }), fc.uint8Array({ maxLength: 64 }), async (size, tail) => {
        const structure = await outcome(Buffer.concat([bytes, tail]), type, size);
        if (!(structure instanceof FileStructure)) throw new Error(structure);
        const image = Buffer.concat(await structure.image());
        expect((await pixelsOf(image)).equals(await pixelsOf(bytes))).toBe(true);
        const { icc, exif } = await sharp(image).metadata();
        expect([icc !== undefined, exif]).toEqual([true, undefined]);
        expect((await sharp(Buffer.concat(await structure.readable())).metadata()).exif).toBeDefined();
      }),
      { numRuns: 20 },
    );
  });

  const part = fc.record({
    name: fc.constantFrom(
      ...'IDAT IEND tEXt iCCP eXIf acTL VP8X VP8  ALPH XMP  RIFF \xff\xd8 \xff\xda \xff\xe1 \xff\xff'.split(' '),
      ...['!\xf9', '!\xff', '!\xfe', ',\0', ';'],
    ),
    length: fc.oneof(fc.nat(40), fc.constantFrom(0, 1, 2, 65_535, 0x7fffffff, 0xffffffff)),
    content: fc.uint8Array({ maxLength: 40 }),
    times: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 30_000 })),
  });

  const STARTS = { png: 33, jpeg: 2, webp: 12, gif: 13 };
  const HEADS = { png: 8, jpeg: 4, webp: 8, gif: 3 };

  test.each([...TYPES, 'gif'] as const)(
    'H3: of a hostile %s is taken or refused, with bounded parts, whatever it claims',
    async (type) => {
      const start = (await gradientImage(64, 64, type)).subarray(0, STARTS[type]);
      // The blocks follow at once, without a table of colors.
      if (type === 'gif') start[10] = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(part, { maxLength: 12 }),
          fc.integer({ min: 1, max: 70_000 }),
          async (parts, size) => {
            const body = parts.map(({ name, length, content, times }) => {
              const head = Buffer.alloc(HEADS[type]);
              head.write(name, type === 'png' ? 4 : 0, 'latin1');
              if (type === 'png') head.writeUInt32BE(length);
              else if (type === 'webp') head.writeUInt32LE(length, 4);
              else if (type === 'jpeg') head.writeUInt16BE(Math.min(length, 0xffff), 2);
              else head.writeUInt8(Math.min(length, 0xff), 2);
              const one = Buffer.concat([head, content]);
              return Buffer.alloc(one.length * times, one);
            });
            const bytes = Buffer.concat([start, ...body]);
            if (type === 'webp') bytes.writeUInt32LE(bytes.length - 8, 4);
            const found = await outcome(bytes, type, Math.max(size, Math.ceil(bytes.length / 2_000)));
            if (typeof found === 'string') return;
            expect(found.ranges).toBeLessThanOrEqual(MAX_FILE_PARTS);
            const image = Buffer.concat(await found.image());
            expect(image.length).toBeLessThanOrEqual(bytes.length);
            expect(sniffImageType(image)).toBe(type);
            const marked = Buffer.concat(found.marked('<x:xmpmeta/>', { width: 64, height: 64, hasAlpha: false }));
            expect(marked.includes('<x:xmpmeta/>')).toBe(true);
            expect(await outcome(marked, type)).toBeInstanceOf(FileStructure);
          },
        ),
        { numRuns: 60 },
      );
    },
  );
});
