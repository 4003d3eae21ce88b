import { Readable } from 'node:stream';
import { answerText } from './answer-text.js';

const LONG = 'A'.repeat(2_000);
const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), Buffer.alloc(1_500)]).toString(
  'base64',
);

const kept = (text: string): Promise<string> => answerText(Readable.from([Buffer.from(text)]));
const keptOf = (value: unknown): Promise<string> => kept(JSON.stringify(value));

describe('the response to a chat that a line keeps', () => {
  it('is as its provider wrote it, on one line', async () => {
    const text = await kept('\n{"a":\r\n"\\n\\u0000",\n"big":12345678901234567890}\n');
    expect(text).toBe('{"a": "\\n\\u0000", "big":12345678901234567890}');
  });

  it.each([
    ['an image of a tool', { output: [{ type: 'image_generation_call', result: PNG }] }],
    ['an image as Markdown', { choices: [{ message: { content: `Here: ![](data:image/png;base64,${PNG})` } }] }],
    ['a JPEG', { data: [{ b64_json: `/9j/${LONG}` }] }],
    ['a WebP', { data: [{ b64_json: `UklGR${LONG}` }] }],
    ['an AVIF', { data: [{ b64_json: `AAAAIGZ0eXBhdmlm${LONG}` }] }],
  ])('has not %s', async (_what, value) => {
    await expect(keptOf(value)).rejects.toMatchObject({ code: 'chat_upstream_error' });
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
