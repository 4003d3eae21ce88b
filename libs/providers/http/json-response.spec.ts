import fc from 'fast-check';
import { Readable } from 'node:stream';
import { ResponseTooLarge } from './base64-sink.js';
import { MAX_TEXT_BYTES, MAX_TOKENS, readJsonResponse, UnusableResponse } from './json-response.js';
import { readJson, textAt, valueOf } from './json-value.js';

function cut(text: string, size: number): AsyncIterable<Buffer> {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
    bytes.subarray(n * size, (n + 1) * size),
  );
  return Readable.from(pieces, { objectMode: true }) as AsyncIterable<Buffer>;
}

/** Counts what is taken of an answer that never ends. */
function endless(head: string, filler: string): { source: AsyncIterable<Buffer>; taken: () => number } {
  const piece = Buffer.from(filler.repeat(Math.ceil(65_536 / filler.length)));
  let taken = 0;
  async function* pieces(): AsyncGenerator<Buffer> {
    yield await Promise.resolve(Buffer.from(head));
    for (; taken < 100_000_000; taken += piece.length) yield piece;
  }
  return { source: pieces(), taken: () => taken };
}

describe("a provider's answer", () => {
  test('is the JSON that it is, however it comes in pieces', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue({ stringUnit: 'binary', maxDepth: 4 }),
        fc.integer({ min: 1, max: 9 }),
        async (value, size) => {
          const text = JSON.stringify(value);
          expect(await readJson(cut(text, size))).toEqual(JSON.parse(text));
        },
      ),
    );
  });

  test('gives its image as bytes, whatever a server escapes, and never as a text', async () => {
    const image = Buffer.from(Array.from({ length: 120_000 }, (_, n) => (n * 7 + (n >> 8)) % 256));
    const base64 = image.toString('base64');
    const forms = [
      base64,
      `data:image\\/png;base64,${base64}`,
      base64.replaceAll('/', '\\/'),
      base64.replaceAll('+', '\\u002B'),
      base64.replaceAll(/.{76}/g, '$&\\r\\n'),
    ];
    for (const form of forms) {
      for (const size of [7, 1_000, 65_536]) {
        const answer = await readJsonResponse(
          cut(`{"data":[{"b64_json":"${form}","n":1}],"x":"a\\"b"}`, size),
          200_000,
        );
        expect(answer.text.length).toBeLessThan(200);
        const value = valueOf(answer);
        const name = textAt(value, 'data', 0, 'b64_json') ?? '';
        expect([answer.isLong(name), textAt(value, 'x')]).toEqual([true, 'a"b']);
        expect(answer.bytesOf(name).equals(image)).toBe(true);
      }
    }
    const short = await readJsonResponse(cut('{"b64_json":"aGVsbG8="}', 4), 10);
    expect(short.bytesOf('aGVsbG8=').toString()).toBe('hello');
  });

  test.each([
    ['lists', '[', '[],', UnusableResponse],
    ['depth', '', '[', UnusableResponse],
    ['members', '{', '"a":1,', UnusableResponse],
    ['texts', '', '""', UnusableResponse],
    ['a number', '', '1', ResponseTooLarge],
    ['nothing', '{', ' ', ResponseTooLarge],
    ['base64', '{"a":"', 'A', ResponseTooLarge],
    ['escapes', '{"a":"', '\\"', ResponseTooLarge],
  ])(
    'H3: without end of %s is left after a bounded part, before anything is parsed',
    async (_of, head, filler, error) => {
      const { source, taken } = endless(head, filler);
      await expect(readJsonResponse(source, 1_000_000)).rejects.toThrow(error);
      expect(taken()).toBeLessThanOrEqual(Math.max(4_200_000, 8 * MAX_TOKENS));
    },
  );

  test('keeps a text of 64 KB in its place, and refuses one that breaks off', async () => {
    const text = 'y'.repeat(MAX_TEXT_BYTES);
    expect(await readJson(cut(JSON.stringify({ text }), 10_000))).toEqual({ text });
    await expect(readJson(cut('{"text":"yes', 5))).rejects.toThrow(UnusableResponse);
    await expect(readJson(cut('', 5))).rejects.toThrow(UnusableResponse);
  });
});
