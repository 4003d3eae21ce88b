import fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { storedStream, streamReader } from '#storage/stored-stream.js';
import { base64Body, BASE64_PLACE, type OpenedImage } from './open-images.js';

/** Where every piece arrives before the next one is asked for. */
const OPEN = { writableLength: 0 };

/** `named`: its size according to the task. */
function imageOf(source: Readable, bytes: number, named = bytes): OpenedImage {
  const stream = storedStream(source, { bytes });
  return { bytes: named, read: streamReader(stream), close: () => void stream.destroy() };
}

describe('base64Body', () => {
  it('is the JSON of the whole image, of exactly the announced length, however the bytes arrive', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 50 })), async (pieces) => {
        const image = Buffer.concat(pieces);
        const stream = Readable.from(
          pieces.map((piece) => Buffer.from(piece)),
          { objectMode: false },
        );
        const data = { data: [{ b64_json: BASE64_PLACE }], size: 'é' };
        const body = base64Body(data, [imageOf(stream, image.length)], OPEN);
        const json = await text(body.stream);
        expect(Buffer.byteLength(json)).toBe(body.length);
        expect(JSON.parse(json)).toEqual({ data: [{ b64_json: image.toString('base64') }], size: 'é' });
      }),
      { numRuns: 200 },
    );
  });

  it('holds several images, each in its place', async () => {
    const images = ['one', '', 'three'].map((word) => Buffer.from(word));
    const data = images.map((_, n) => ({ n, b64_json: BASE64_PLACE }));
    const opened = images.map((image) => imageOf(Readable.from([image]), image.length));
    const body = base64Body({ data }, opened, OPEN);
    const json = await text(body.stream);
    expect(json).toHaveLength(body.length);
    expect(JSON.parse(json)).toEqual({ data: images.map((image, n) => ({ n, b64_json: image.toString('base64') })) });
  });

  it('changes no piece that is still on its way, and needs few buffers when none is', async () => {
    const image = randomBytes(2_000_000);
    for (const rest of [0, 1, 3]) {
      const passage = { writableLength: 0 };
      const opened = imageOf(Readable.from([image], { objectMode: false }), image.length);
      const body = base64Body({ image: BASE64_PLACE }, [opened], passage);
      const waiting: Buffer[] = [];
      const memory = new Set<ArrayBufferLike>();
      let json = '';
      const pass = (): void => {
        json += Buffer.concat(waiting.splice(0)).toString();
        passage.writableLength = 0;
      };
      for await (const piece of body.stream as AsyncIterable<Buffer>) {
        memory.add(piece.buffer);
        waiting.push(piece);
        passage.writableLength += piece.length;
        if (waiting.length > rest) pass();
      }
      pass();
      expect(JSON.parse(json)).toEqual({ image: image.toString('base64') });
      // The texts before and after the image have their own.
      if (rest === 0) expect(memory.size).toBeLessThanOrEqual(3);
    }
  });

  it('stops reading the store when its reader goes away', async () => {
    const stream = new Readable({ read: () => undefined });
    const body = base64Body({ image: BASE64_PLACE }, [imageOf(stream, 1_000)], OPEN);
    const closed = new Promise((resolve) => stream.once('close', resolve));
    body.stream.destroy();
    await closed;
    expect(stream.destroyed).toBe(true);
  });

  it('fails, and does not end, when the store fails half-way', async () => {
    const stream = new Readable({ read: () => undefined });
    const body = base64Body({ image: BASE64_PLACE }, [imageOf(stream, 1_000)], OPEN);
    stream.push(Buffer.alloc(300));
    const read = text(body.stream);
    stream.destroy(new Error('cut'));
    await expect(read).rejects.toMatchObject({ name: 'StorageError', cause: { message: 'cut' } });
  });

  it('fails when the image is shorter than its task says', async () => {
    const body = base64Body({ image: BASE64_PLACE }, [imageOf(Readable.from([Buffer.alloc(300)]), 300, 301)], OPEN);
    await expect(text(body.stream)).rejects.toThrow('the image ends 1 bytes before');
  });
});
