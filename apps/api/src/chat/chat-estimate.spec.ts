import { costOfChat, estimatedInput, expectedOutput, OutputMeter, reserveOf } from './chat-estimate.js';
import { CHAT_COMPLETIONS, RESPONSES } from './chat-api.js';
import { readChatRequest } from './chat-request.js';

const PRICES = { input: 1_000_000, cached_input: 100_000, output: 1_000_000 };
const chat = (fields = '') => readChatRequest(Buffer.from(`{"model":"m","messages":["abcdefgh"]${fields}}`));
const ofStream = (...texts: string[]): number => {
  const meter = new OutputMeter(true, CHAT_COMPLETIONS);
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

  it('takes each event with new text of a response for a token, and none of those that repeat it', () => {
    const named = (type: string, fields: object): string =>
      `event: ${type}\ndata: ${JSON.stringify({ type, item_id: 'msg_1', output_index: 0, ...fields })}\n\n`;
    const text = [
      named('response.created', { response: { instructions: 'x'.repeat(4_000) } }),
      named('response.output_text.delta', { delta: 'a' }),
      named('response.output_text.delta', { delta: 'b' }),
      named('response.refusal.delta', { delta: 'c' }),
      named('response.output_text.done', { text: 'ab'.repeat(1_000) }),
      named('response.completed', { response: { output: ['ab'.repeat(4_000)] } }),
    ].join('');
    for (const size of [1, 9, text.length]) {
      const meter = new OutputMeter(true, RESPONSES);
      for (let at = 0; at < text.length; at += size) meter.push(Buffer.from(text.slice(at, at + size)));
      expect(meter.tokens).toBe(3);
    }
    const unnamed = new OutputMeter(true, RESPONSES);
    unnamed.push(Buffer.from(text.replace(/^event:.*\n/gm, '')));
    expect(unnamed.tokens).toBeGreaterThan(3);
  });

  it('expects of a response what its own limit allows, and counts images in its input', () => {
    const read = (fields: string) => readChatRequest(Buffer.from(`{"model":"m"${fields}}`), RESPONSES);
    expect(expectedOutput(read(',"max_output_tokens":10,"max_tokens":1'))).toBe(10);
    expect(expectedOutput(read(',"max_tokens":1'))).toBe(4_096);
    expect(expectedOutput(chat(',"max_output_tokens":10'))).toBe(4_096);
    const image = `{"type":"input_image","image_url":"data:image/png;base64,${'A'.repeat(100_000)}"}`;
    const asked = read(`,"input":[{"role":"user","content":[${image}]}]`);
    expect(estimatedInput(asked)).toBe(1_500 + Math.ceil((asked.bytes.length - 100_024) / 4));
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
