import { jest } from '@jest/globals';
import { UsageFilter } from './usage-filter.js';

const event = (data: string, end = '\n\n'): string => `data: ${data}${end}`;
const TEXT = event('{"choices":[{"delta":{"content":"a \\"usage\\":{} b"}}],"usage":null}');
const USAGE = event('{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}');
const DONE = event('[DONE]');

/** What comes through when the text is cut into pieces of so many bytes. */
function through(text: string, hiding: boolean, size: number): { text: string; input: number | null | undefined } {
  const filter = new UsageFilter(hiding);
  const bytes = Buffer.from(text);
  const kept: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) kept.push(filter.push(bytes.subarray(at, at + size)));
  kept.push(filter.end());
  return { text: Buffer.concat(kept).toString(), input: filter.usage?.input };
}

describe('UsageFilter', () => {
  const sizes = Array.from({ length: 40 }, (_, index) => index + 1).concat(1_000);

  it('hides the one event that tells the usage, however the stream is cut', () => {
    for (const size of sizes) expect(through(TEXT + USAGE + DONE, true, size)).toEqual({ text: TEXT + DONE, input: 3 });
  });

  it('changes nothing when nothing is to be hidden, and sees the usage all the same', () => {
    const text = TEXT + USAGE + DONE;
    for (const size of sizes) expect(through(text, false, size)).toEqual({ text, input: 3 });
  });

  it('knows other line ends, spaces, and an event without its end', () => {
    const spaced = event('{"choices": [], "usage" : {"prompt_tokens": 3}}', '\r\n\r\n');
    expect(through(TEXT + spaced + DONE, true, 11)).toEqual({ text: TEXT + DONE, input: 3 });
    expect(through(TEXT + USAGE.trimEnd(), true, 11)).toEqual({ text: TEXT, input: 3 });
  });

  it('V9: hides usage without choices, which we asked for ourselves, but no error', () => {
    for (const choices of ['', '"choices":null,']) {
      const alone = event(`{${choices}"usage":{"prompt_tokens":3}}`);
      expect(through(TEXT + alone + DONE, true, 7)).toEqual({ text: TEXT + DONE, input: 3 });
    }
    const error = event('{"error":{"message":"No."},"usage":{"prompt_tokens":3}}');
    expect(through(error + DONE, true, 7)).toEqual({ text: error + DONE, input: 3 });
  });

  it('M2: copies and searches each byte of a stream of single bytes a constant number of times', () => {
    const text = event(`{"choices":[{"delta":{"content":"${'x'.repeat(60_000)}"}}]}`);
    const bytes = Buffer.from(text.repeat(3));
    const copied = jest.spyOn(Buffer.prototype, 'copy');
    const searched = jest.spyOn(Buffer.prototype, 'indexOf');
    try {
      const filter = new UsageFilter(true);
      let passed = 0;
      for (let at = 0; at < bytes.length; at++) passed += filter.push(bytes.subarray(at, at + 1)).length;
      expect([passed, filter.end().length]).toEqual([bytes.length, 0]);
      const lengthOf = (of: unknown): number => (of as Buffer).length;
      // One copy of each byte, and those of a buffer that doubles.
      expect(copied.mock.contexts.reduce<number>((sum, of) => sum + lengthOf(of), 0)).toBeLessThan(4 * bytes.length);
      expect(searched.mock.contexts.reduce<number>((sum, of) => sum + lengthOf(of), 0)).toBeLessThan(4 * bytes.length);
    } finally {
      copied.mockRestore();
      searched.mockRestore();
    }
  });

  it.each([
    ['usage beside content', event('{"choices":[{"delta":{}}],"usage":{"prompt_tokens":3}}'), 3],
    ['an empty list of choices without usage', event('{"choices":[],"prompt_filter_results":[]}'), undefined],
    ['what is no JSON', event('"usage":{'), undefined],
    ['a comment', ': ping "usage":{}\n\n', undefined],
  ])('keeps %s', (_name, text, input) => {
    expect(through(text + DONE, true, 9)).toEqual({ text: text + DONE, input });
  });

  it('finds the usage of a response in its last event, of any length, and no other one that it repeats', () => {
    const named = (type: string, response: string): string =>
      `event: ${type}\ndata: {"type":"${type}","response":${response}}\n\n`;
    const schema = `"tools":[{"parameters":{"usage":{"input_tokens":0,"output_tokens":0}}}]`;
    for (const length of [10, 70_000, 300_000]) {
      const text = [
        named('response.created', `{"id":"resp_1",${schema},"usage":null}`),
        named('response.output_text.delta', `"${'x'.repeat(length)}"`),
        named(
          'response.completed',
          `{"output":["${'x'.repeat(length)}"],${schema},"usage":{"input_tokens":3},"user":null}`,
        ),
      ].join('');
      for (const size of [7, 1_000, text.length]) expect(through(text, false, size)).toEqual({ text, input: 3 });
      const cut = text.trimEnd();
      expect(through(cut, false, 999)).toEqual({ text: cut, input: 3 });
    }
  });

  it('holds no long event back, and hides what comes after it', () => {
    const long = event(`{"choices":[{"delta":{"content":"${'x'.repeat(200_000)}"}}]}`);
    for (const size of [1_000, long.length - 1, long.length]) {
      expect(through(long + USAGE + DONE, true, size)).toEqual({ text: long + DONE, input: 3 });
    }
    const filter = new UsageFilter(true);
    expect(filter.push(Buffer.from(long.slice(0, 100_000))).length).toBe(100_000);
  });
});
