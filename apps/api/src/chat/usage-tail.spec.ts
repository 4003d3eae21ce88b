import { Tail, usageInTail } from './usage-tail.js';

const USAGE = '{"input_tokens":3,"input_tokens_details":{"cached_tokens":1},"output_tokens":4}';
const COUNTED = { input: 3, output: 4, cached: 1 };
/** What a caller could send to have less counted. */
const FALSE = '{"input_tokens":0,"output_tokens":0}';

const found = (text: string, depth?: number, size = text.length): unknown => {
  const tail = new Tail();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) tail.add(bytes.subarray(at, at + size));
  return usageInTail(tail.last, depth);
};

describe('the usage at the end of a long response', () => {
  it.each([
    ['as the last member', `{"id":"a","usage":${USAGE}}`],
    ['with spaces and line breaks', `{ "usage" :\n ${USAGE} , "metadata" : { } }\n\n`],
    ['after false ones in schemas', `{"tools":[{"parameters":{"usage":${FALSE}}}],"usage":${USAGE}}`],
    ['before false ones in schemas', `{"usage":${USAGE},"tools":[{"parameters":{"usage":${FALSE}}}]}`],
    ['before false ones in texts', `{"usage":${USAGE},"text":"\\"usage\\":${FALSE.replaceAll('"', '\\"')}}"}`],
    ['before texts of quotes, backslashes and brackets', `{"usage":${USAGE},"a":"\\"}","b":"\\\\","c":"]{"}`],
  ])('is found %s, however it is cut', (_name, text) => {
    for (const before of ['', `"long":"${'x'.repeat(40_000)}",`]) {
      const whole = text.replace(/^\{/, `{${before}`);
      for (const size of [1, 7, 20_000, whole.length]) expect(found(whole, 1, size)).toEqual(COUNTED);
    }
  });

  it('is found in the response of an event, wherever that is', () => {
    for (const event of [
      `data: {"type":"response.completed","response":{"usage":${USAGE}},"sequence_number":3}\n\n`,
      `data: {"response":{"usage":${USAGE},"user":null},"usage":${FALSE}}\r\n\r\n`,
    ]) {
      expect(found(event, 2)).toEqual(COUNTED);
    }
  });

  it.each([
    ['null', '{"usage":null}'],
    ['deeper only', `{"item":{"usage":${USAGE}}}`],
    ['before the tail', `{"usage":${USAGE},"text":"${'x'.repeat(20_000)}"}`],
    ['in nothing', ''],
    ['in a single quote', '"'],
  ])('is not found %s', (_name, text) => {
    expect(found(text)).toBeUndefined();
  });
});
