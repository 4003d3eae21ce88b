import { Readable } from 'node:stream';
import { bodyOf, readInput } from './input-lines.js';

const URL = '/v1/images/generations';
const line = (id: string): string => JSON.stringify({ custom_id: id, method: 'POST', url: URL, body: { prompt: id } });

async function read(text: string | Buffer, pieceBytes: number) {
  const bytes = Buffer.from(text);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) pieces.push(bytes.subarray(at, at + pieceBytes));
  const found = [];
  for await (const one of readInput(Readable.from(pieces), URL)) found.push(one);
  return { bytes, found };
}

describe('the lines of an input file', () => {
  const text = `\uFEFF${line('first')}\r\n\n  \n${line('zweite Zeile: ä')}\n${line('last')}`;

  it.each([1, 7, 64, 10_000])(
    'are found again by their places, whatever pieces of %s bytes they arrive in',
    async (size) => {
      const { bytes, found } = await read(text, size);
      const lines = found.map((one) => ('line' in one ? one.line : undefined));
      expect(lines.map((one) => [one?.line, one?.customId])).toEqual([
        [1, 'first'],
        [4, 'zweite Zeile: ä'],
        [5, 'last'],
      ]);
      for (const one of lines) {
        const place = bytes.subarray(one?.position, (one?.position ?? 0) + (one?.bytes ?? 0));
        expect(bodyOf(place)).toEqual({ prompt: one?.customId });
      }
    },
  );

  it('are refused if they are no UTF-8, and no more than 20 are named', async () => {
    const { found } = await read(Buffer.from([...Buffer.from(line('a').slice(0, -2)), 0xff, 0x7d, 0x7d, 0x0a]), 100);
    expect(found).toMatchObject([{ problem: { code: 'invalid_json_line', line: 1 } }]);
    expect((await read('x\n'.repeat(100), 1_000)).found).toHaveLength(20);
  });

  it('are refused behind 100,000, blank ones included, without reading on', async () => {
    const { found } = await read(`${'\n'.repeat(99_999)}${line('last')}\n`, 65_536);
    expect(found).toMatchObject([{ line: { line: 100_000 } }]);
    let pieces = 0;
    async function* blank(): AsyncGenerator<Buffer> {
      for (; pieces < 1_000; pieces++) yield await Promise.resolve(Buffer.alloc(65_536, '\n'));
    }
    const refused = [];
    for await (const one of readInput(blank(), URL)) refused.push(one);
    expect(refused).toMatchObject([{ problem: { code: 'too_many_requests', line: null } }]);
    expect(pieces).toBe(1);
  });
});
