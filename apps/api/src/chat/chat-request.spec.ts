import { AppError } from '#contract/app-error.js';
import { bodyFor, readChatRequest } from './chat-request.js';

const read = (text: string): ReturnType<typeof readChatRequest> => readChatRequest(Buffer.from(text));

function sent(text: string, model = 'm', askUsage = true): string {
  return Buffer.concat(bodyFor(read(text), model, askUsage)).toString();
}

describe('bodyFor', () => {
  it.each([
    ['{"model":"m","messages":[1]}', '{"model":"m","messages":[1]}'],
    ['{"model":"m","messages":[1],"stream":false}', '{"model":"m","messages":[1],"stream":false}'],
    [
      '{"model":"m","messages":[1],"stream":true} ',
      '{"model":"m","messages":[1],"stream":true,"stream_options":{"include_usage":true}} ',
    ],
    [
      '{"stream_options":{"include_obfuscation":false},"model":"m","messages":[1],"stream":true}',
      '{"stream_options":{"include_obfuscation":false,"include_usage":true},"model":"m","messages":[1],"stream":true}',
    ],
    [
      '{"stream":true,"stream_options":null,"model":"m","messages":[1]}',
      '{"stream":true,"stream_options":{"include_usage":true},"model":"m","messages":[1]}',
    ],
    [
      '{"stream":true,"stream_options": {"include_usage" :true},"model":"m","messages":[1]}',
      '{"stream":true,"stream_options": {"include_usage" :true},"model":"m","messages":[1]}',
    ],
    [
      ' \n{"model":"m","messages":[ \t{"a":"}"}],"stream":true \r\n}\n \t',
      ' \n{"model":"m","messages":[ \t{"a":"}"}],"stream":true \r\n,"stream_options":{"include_usage":true}}\n \t',
    ],
    [
      '{"stream":true,"stream_options":7,"model":"m","messages":[1]}',
      '{"stream":true,"stream_options":7,"model":"m","messages":[1]}',
    ],
  ])('%s', (text, expected) => {
    expect(sent(text)).toBe(expected);
  });

  it('finds the model wherever it stands, behind texts with braces, quotes and escapes', () => {
    const text = (model: string): string =>
      `{"messages":[{"content":"} \\" ] \\\\"},[["{"]]],"a":-1.50e3,"mod\\u0065l":"${model}","z":null}`;
    expect(sent(text('m'), 'other "name"')).toBe(text('other \\"name\\"'));
  });

  it('changes no byte when the usage is not to be asked for', () => {
    const text = '{"model":"m","messages":[1],"stream":true}';
    expect(sent(text, 'm', false)).toBe(text);
  });
});

describe('readChatRequest', () => {
  it('reads large bodies without judging what is in them', () => {
    const long = 'x'.repeat(2_000_000);
    expect(read(`\uFEFF{"model":"m","messages":[{"a":"${long}"}],"stream":true}`)).toMatchObject({
      model: 'm',
      streamed: true,
      wantsUsage: false,
    });
    expect(() => read(`{"messages":["${long}"`)).toThrow(AppError);
    expect(() => read(`{"model":"m","messages":["${long}"]} x`)).toThrow(AppError);
  });

  it.each([
    ['array_below_min_length', '{"model":"m","messages": [ \n ]}'],
    ['invalid_type', '{"model":"m","messages":{}}'],
    ['invalid_type', `{"model":"m","messages":[1],"stream":"${'true'.repeat(1_000_000)}"}`],
    ['invalid_type', '{"model":"m","messages":[1],"stream":"true"}'],
    ['invalid_json', ' [1]'],
  ])('says %s', (code, text) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code }) as Error);
  });

  it.each([
    '{"model":"a","mod\\u0065l":"b","messages":[1]}',
    '{"model":"a","Model":"b","messages":[1]}',
    '"a"',
    '{,}',
    '',
  ])('refuses %s', (text) => {
    expect(() => read(text)).toThrow(AppError);
  });
});
