import fc from 'fast-check';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { base64Body, BASE64_PLACE } from './open-images.js';

describe('base64Body', () => {
  it('is the JSON of the whole image, of exactly the announced length, however the bytes arrive', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 50 })), async (pieces) => {
        const image = Buffer.concat(pieces);
        const stream = Readable.from(
          pieces.map((piece) => Buffer.from(piece)),
          { objectMode: false },
        );
        const body = base64Body({ data: [{ b64_json: BASE64_PLACE }], size: 'é' }, { stream, bytes: image.length });
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
    const body = base64Body(
      { data },
      ...images.map((image) => ({ stream: Readable.from([image]), bytes: image.length })),
    );
    const json = await text(body.stream);
    expect(json).toHaveLength(body.length);
    expect(JSON.parse(json)).toEqual({ data: images.map((image, n) => ({ n, b64_json: image.toString('base64') })) });
  });

  it('stops reading the store when its reader goes away', async () => {
    const stream = new Readable({ read: () => undefined });
    const body = base64Body({ image: BASE64_PLACE }, { stream, bytes: 1_000 });
    const closed = new Promise((resolve) => stream.once('close', resolve));
    body.stream.destroy();
    await closed;
    expect(stream.destroyed).toBe(true);
  });

  it('fails, and does not end, when the store fails half-way', async () => {
    const stream = new Readable({ read: () => undefined });
    const body = base64Body({ image: BASE64_PLACE }, { stream, bytes: 1_000 });
    stream.push(Buffer.alloc(300));
    const read = text(body.stream);
    stream.destroy(new Error('cut'));
    await expect(read).rejects.toThrow('cut');
  });
});
