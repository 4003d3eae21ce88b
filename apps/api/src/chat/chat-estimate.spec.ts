import { costOfChat, estimatedInput, expectedOutput, OutputMeter, reserveOf } from './chat-estimate.js';
import { readChatRequest } from './chat-request.js';

const PRICES = { input: 1_000_000, cachedInput: 100_000, output: 1_000_000 };
const chat = (fields = '') => readChatRequest(Buffer.from(`{"model":"m","messages":["abcdefgh"]${fields}}`));
const ofStream = (...texts: string[]): number => {
  const meter = new OutputMeter(true);
  for (const text of texts) meter.push(Buffer.from(text));
  return meter.tokens;
};
const line = (content: string): string => `data: {"choices":[{"delta":{"content":"${content}"}}]}\n\n`;

describe('the estimate of a chat', () => {
  it('takes four bytes of the request for a token, and an image for 1,500, however large it is', () => {
    const plain = chat(`,"x":"${'a'.repeat(401)}"`);
    expect(estimatedInput(plain)).toBe(Math.ceil(plain.bytes.length / 4));
    const image = `{"image_url": {"url" : "data:image/png;base64,${'A'.repeat(100_000)}"}}`;
    const asked = readChatRequest(Buffer.from(`{"model":"m","messages":[${image},${image}]}`));
    expect(estimatedInput(asked)).toBe(3_000 + Math.ceil((asked.bytes.length - 2 * 100_023) / 4));
  });

  it('H4: takes no text for an image, whatever it begins with and wherever it stands', () => {
    const prose = `data:image/png;base64,${'word/'.repeat(20_000)}`;
    for (const text of [
      `{"model":"m","messages":[{"role":"user","content":"${prose}"}]}`,
      `{"model":"m","messages":[{"role":"user","content":"\\"url\\":\\"${prose}"}]}`,
      `{"model":"m","messages":["a"],"tools":[{"url":"${prose}"}]}`,
    ]) {
      expect(estimatedInput(readChatRequest(Buffer.from(text)))).toBe(Math.ceil(text.length / 4));
    }
  });

  it('H2: counts small images, and texts that look like images, by their bytes, however many there are', () => {
    const small = `{"image_url":{"url":"data:image/png;base64,${'A'.repeat(4_000)}"}}`;
    for (const items of [small, `${small},"data:image/png","data:image/"`]) {
      const text = `{"model":"m","messages":[${items}]}`;
      expect(estimatedInput(readChatRequest(Buffer.from(text)))).toBe(Math.ceil(text.length / 4));
    }
  });

  it('takes each event of a stream for a token, and more of what is longer, wherever it is cut', () => {
    const text = `: ping\n\n${line('a')}${line('b')}${line('')}data: [DONE]\n\n`;
    expect(ofStream(text)).toBe(3);
    expect(ofStream(...text)).toBe(3);
    expect(ofStream(line(''), line('x'.repeat(400)))).toBe(100);
    expect(ofStream(line(''), line('x'.repeat(4_000_000)))).toBe(4_096);
    expect(ofStream()).toBe(0);
  });

  it('expects what the request allows, for all its choices', () => {
    expect(expectedOutput(chat())).toBe(4_096);
    expect(expectedOutput(chat(',"max_tokens":10,"max_completion_tokens":7,"n":3'))).toBe(21);
    expect(expectedOutput(chat(',"max_tokens":-1,"n":"9"'))).toBe(4_096);
    expect(expectedOutput(chat(',"max_tokens":1e300'))).toBe(131_072);
    expect(reserveOf(chat(',"max_tokens":10'), PRICES)).toBe(estimatedInput(chat(',"max_tokens":10')) + 10);
  });

  const SEEN = { usage: undefined, whole: false, output: 5, unseenSeconds: 0 };
  const input = estimatedInput(chat());

  it.each([
    ['what was counted of a whole answer', { whole: true, usage: { input: 3, output: 2, cached: null } }, 5],
    ['what the cache had for less', { whole: true, usage: { input: 20, output: 2, cached: 10 } }, 13],
    ['what was seen where nothing was counted', {}, input + 5],
    ['a whole answer that nobody counted', { whole: true }, input + 5],
    ['what is missing of a count', { whole: true, usage: { input: 3, output: null, cached: null } }, 8],
    ['more than a count before the end', { usage: { input: 3, output: 2, cached: null } }, 8],
    ['the time in which nobody looked', { unseenSeconds: 10 }, input + 500],
    ['no more of it than the request allows', { unseenSeconds: 1_000 }, input + 4_096],
  ])('is %s', (_name, changes, cost) => {
    expect(costOfChat(chat(), PRICES, { ...SEEN, ...changes })).toBe(cost);
  });
});
