import { Readable } from 'node:stream';
import { answerText } from './answer-text.js';

const LONG = 'A'.repeat(2_000);
const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), Buffer.alloc(1_500)]).toString(
  'base64',
);

const kept = (text: string, pieceBytes = Infinity): Promise<string> => {
  const bytes = Buffer.from(text);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) pieces.push(bytes.subarray(at, at + pieceBytes));
  return answerText(Readable.from(pieces));
};
const keptOf = (value: unknown): Promise<string> => kept(JSON.stringify(value));

describe('the response to a chat that a line keeps', () => {
  it('is as its provider wrote it, on one line', async () => {
    const text = await kept('\n{"a":\r\n"\\n\\u0000",\n"big":12345678901234567890}\n');
    expect(text).toBe('{"a": "\\n\\u0000", "big":12345678901234567890}');
  });

  it.each([
    [
      'an image of a tool',
      { output: [{ result: PNG, status: 'completed' }] },
      { output: [{ result: '', status: 'completed' }] },
    ],
    [
      'images as Markdown',
      { content: `Here: ![](data:image/png;base64,${PNG}) é ![](data:image/png;base64,${PNG})` },
      { content: 'Here: ![](data:image/png;base64,) é ![](data:image/png;base64,)' },
    ],
    ['a JPEG', { data: [{ b64_json: `/9j/${LONG}==` }] }, { data: [{ b64_json: '' }] }],
    ['a WebP', { data: [{ b64_json: `UklGR${LONG}` }] }, { data: [{ b64_json: '' }] }],
    ['an AVIF', { data: [{ b64_json: `AAAAIGZ0eXBhdmlm${LONG}` }] }, { data: [{ b64_json: '' }] }],
  ])('has all but the base64 of %s', async (_what, value, left) => {
    expect(await keptOf(value)).toBe(JSON.stringify(left));
  });

  it.each([999, 65_536])(
    'has none of an image that is longer than all that is kept, in pieces of %s bytes',
    async (size) => {
      const image = `\\/9j\\/${'Ab\\/+'.repeat(300_000)}=`;
      const text = `{"é":"${image}","big":12345678901234567890,"b":"\\\\${image}\\nend"}`;
      expect(await kept(text, size)).toBe('{"é":"","big":12345678901234567890,"b":"\\\\\\nend"}');
    },
  );

  it('is none with an image whose letters are escaped', async () => {
    await expect(kept(`{"a":"\\u0069${PNG.slice(1)}"}`)).rejects.toMatchObject({ code: 'chat_upstream_error' });
  });

  it.each([
    ['encrypted reasoning', { output: [{ type: 'reasoning', encrypted_content: `gAAAAA${LONG}` }] }],
    ['the beginning of an image', { content: PNG.slice(0, 500) }],
  ])('may have %s', async (_what, value) => {
    expect(await keptOf(value)).toBe(JSON.stringify(value));
  });

  it('may have very deep values', async () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    expect(await kept(deep)).toBe(deep);
  });

  it.each([
    ['1 MB', `"${'x'.repeat(1_048_576)}"`],
    ['JSON', 'data: {}'],
  ])('is no other than %s', async (_what, text) => {
    await expect(kept(text)).rejects.toMatchObject({ code: 'chat_upstream_error' });
  });
});
