import sharp from 'sharp';
import { itWithExifTool, readMetadata } from '../exiftool.fixture.js';
import { FileStructure } from '../file-structure.js';
import { readInputImage } from '../input-image.js';
import { animatedGif, gradientImage, pixelsOf } from '../sample-images.fixture.js';
import { finishedFile } from './finished-file.fixture.js';
import type { FinishOrder } from './step.js';
import { lengthOf } from '#bytes/bytes.js';

const MARK = { taskId: 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A', action: 'generation', tool: 'Darkroom 1.0.0' } as const;
const XMP = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/" dc:source="of the provider"/></rdf:RDF></x:xmpmeta>`;
const SECRET = Buffer.from('a secret');
/** Leads from whichever byte of XMP is taken for a length to the end. */
const XMP_END = Buffer.from([1, ...Array.from({ length: 256 }, (_, index) => 255 - index), 0]);

function finish(bytes: Buffer, order: Partial<FinishOrder> = {}): ReturnType<typeof finishedFile> {
  const plain = {
    target: undefined,
    format: 'gif',
    compression: undefined,
    background: undefined,
  } as const;
  return finishedFile(bytes, { ...plain, mark: MARK, ...order }, new AbortController().signal);
}

/** With a block behind the header and its color table. */
function withBlock(gif: Buffer, ...block: (Buffer | number[])[]): Buffer {
  const flags = gif.readUInt8(10);
  const at = 13 + ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));
  return Buffer.concat([gif.subarray(0, at), ...block.map((part) => Buffer.from(part)), gif.subarray(at)]);
}

const withXmp = (gif: Buffer): Buffer =>
  withBlock(gif, [0x21, 0xff, 11], Buffer.from('XMP DataXMP'), Buffer.from(XMP), XMP_END);
const withComment = (gif: Buffer): Buffer => withBlock(gif, [0x21, 0xfe, SECRET.length], SECRET, [0]);
const framesOf = async (gif: Buffer): Promise<Buffer> => sharp(gif, { animated: true }).raw().toBuffer();

describe('a gif', () => {
  let still: Buffer;
  let animated: Buffer;
  beforeAll(async () => {
    still = await gradientImage(96, 80, 'gif');
    animated = await animatedGif(96, 80, 4);
  });

  test.each(['png', 'jpeg', 'webp'] as const)('is made of a %s, of exactly the pixels ordered', async (type) => {
    const image = await finish(await gradientImage(320, 192, type), { target: { width: 160, height: 160 } });
    expect(image).toMatchObject({ format: 'gif', contentType: 'image/gif', width: 160, height: 160 });
    expect(image).toMatchObject({ isAnimated: false, received: { width: 320, height: 192, format: type } });
    expect(await sharp(image.bytes).metadata()).toMatchObject({ format: 'gif', width: 160, height: 160 });
  });

  test('keeps what is transparent in the image that it is made of, unless it is to be opaque', async () => {
    const png = await gradientImage(64, 64, 'png', 4);
    expect([...(await pixelsOf((await finish(png)).bytes)).subarray(0, 4)]).toEqual([0, 0, 0, 0]);
    const opaque = await pixelsOf((await finish(png, { background: 'opaque' })).bytes);
    expect([...opaque.subarray(0, 3)]).toEqual([255, 255, 255]);
  });

  test('that is right already keeps its bytes, and one that moves keeps moving', async () => {
    for (const gif of [still, animated]) {
      const image = await finish(gif, { target: { width: 96, height: 80 }, mark: undefined });
      expect(image.bytes.equals(gif)).toBe(true);
      expect(image).toMatchObject({ width: 96, height: 80, provenance: 'none', isAnimated: gif === animated });
    }
  });

  test('that moves becomes its first frame where it must be changed', async () => {
    for (const change of [{ target: { width: 64, height: 64 } }, { format: 'png' }] as const) {
      const image = await finish(animated, change);
      expect(image).toMatchObject({ isAnimated: false, received: { isAnimated: true, width: 96, height: 80 } });
      expect((await sharp(image.bytes).metadata()).pages ?? 1).toBe(1);
    }
  });

  itWithExifTool(
    'is marked as independent readers expect it, whether it moves or not, and changes no pixel',
    async () => {
      const old = Buffer.from(still);
      old.write('87a', 3, 'latin1');
      for (const gif of [still, animated, old]) {
        const image = await finish(gif);
        expect(image.provenance).toBe('marked');
        const found = await readMetadata(image.bytes);
        expect(found).toMatchObject({
          'XMP-iptcExt:DigitalSourceType': 'http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia',
          'XMP-xmp:CreatorTool': 'Darkroom 1.0.0',
          'XMP-dc:Identifier': MARK.taskId,
          'GIF:GIFVersion': '89a',
        });
        expect(found).not.toHaveProperty(['ExifTool:Warning']);
        expect((await framesOf(image.bytes)).equals(await framesOf(gif))).toBe(true);
        const { delay, loop } = await sharp(image.bytes, { animated: true }).metadata();
        expect({ delay, loop }).toMatchObject(gif === animated ? { delay: [100, 100, 100, 100], loop: 3 } : {});
        expect(lengthOf(await (await FileStructure.of(image.bytes, 'gif')).image())).toBe(gif.length);
      }
    },
  );

  itWithExifTool('keeps the XMP of its provider byte for byte, without what may be personal', async () => {
    const kept = await finish(withXmp(animated));
    expect(kept.provenance).toBe('kept');
    expect(kept.bytes.equals(withXmp(animated))).toBe(true);
    for (const dirty of [withComment(withXmp(animated)), Buffer.concat([withXmp(animated), SECRET])]) {
      const cleaned = await finish(dirty);
      expect(cleaned.provenance).toBe('kept');
      expect(cleaned.bytes.includes(SECRET)).toBe(false);
      expect(await readMetadata(cleaned.bytes)).toMatchObject({ 'XMP-dc:Source': 'of the provider' });
      expect((await framesOf(cleaned.bytes)).equals(await framesOf(animated))).toBe(true);
    }
    const off = await finish(withComment(withXmp(still)), { mark: undefined });
    expect(off.bytes.equals(still)).toBe(true);
  });

  test('that is cut short, or has a block of no kind, is no usable image', async () => {
    const cuts = [20, 700, 900, still.length - 1].map((length) => still.subarray(0, length));
    for (const bytes of [...cuts, withBlock(still, [0x17])]) {
      await expect(finish(bytes)).rejects.toMatchObject({ code: 'upstream_invalid_response' });
    }
  });

  test('of a caller becomes a PNG if it is still, and is refused if it is animated', async () => {
    expect(await readInputImage(still)).toMatchObject({ contentType: 'image/png', convertedFrom: 'gif' });
    await expect(readInputImage(animated)).rejects.toMatchObject({ code: 'invalid_image_file' });
  });

  test('is walked in slices, wherever it is cut', async () => {
    const noise = await sharp({
      create: {
        width: 400,
        height: 400,
        channels: 3,
        background: '#000',
        noise: { type: 'gaussian', mean: 128, sigma: 60 },
      },
    })
      .gif()
      .toBuffer();
    expect(noise.length).toBeGreaterThan(131_072);
    expect((await finish(noise, { mark: undefined })).bytes.equals(noise)).toBe(true);
  });
});
