import { chatLabels } from './chat-labels.js';
import { bodyFor, readChatRequest, valueFor, type ChatRequest } from './chat-request.js';

const MESSAGES = '"messages":[{"role":"user","content":"hi"}]';

const chat = (text: string, labels: Partial<ChatRequest> = {}): ChatRequest => ({
  ...readChatRequest(Buffer.from(text)),
  ...labels,
});
const sent = (text: string, labels: Partial<ChatRequest> = {}, askUsage = false): string =>
  Buffer.concat(bodyFor(chat(text, labels), 'm', askUsage)).toString();

describe('a chat whose key derives end users', () => {
  it.each([
    [
      'both fields',
      `{"user" : "ann", "model":"m",${MESSAGES}, "safety_identifier":"a"}`,
      `{"user" : "eu_1", "model":"m",${MESSAGES}, "safety_identifier":"eu_1"}`,
    ],
    [
      'a field with an escaped name',
      `{"us\\u0065r":"ann","model":"m",${MESSAGES}}`,
      `{"us\\u0065r":"eu_1","model":"m",${MESSAGES}}`,
    ],
    ['no field', `{"model":"m",${MESSAGES} } `, `{"model":"m",${MESSAGES} ,"safety_identifier":"eu_1"} `],
    [
      'an empty field',
      `{"model":"m",${MESSAGES},"safety_identifier":null}`,
      `{"model":"m",${MESSAGES},"safety_identifier":"eu_1"}`,
    ],
  ])('has the identifier in place of %s, and all else byte for byte', (_name, text, expected) => {
    expect(sent(text, { endUser: 'eu_1' })).toBe(expected);
    expect(valueFor(chat(text, { endUser: 'eu_1' }), 'm', false)).toEqual(JSON.parse(expected));
  });

  it('reads fields of end users by their exact names alone', () => {
    const read = (fields: string, mode?: 'derive') =>
      chatLabels(chat(`{"model":"m",${MESSAGES},${fields}}`), { 'x-darkroom-end-user': 'from the header' }, mode);
    expect(read('"user":"ann","safety_identifier":"a"', 'derive')).toMatchObject({
      user: 'ann',
      safetyIdentifier: 'a',
      endUser: 'from the header',
    });
    expect(read('"User":7')).toMatchObject({ user: undefined, safetyIdentifier: undefined });
    const refusal = (fields: string): unknown => {
      try {
        return read(fields, 'derive');
      } catch (error) {
        return error;
      }
    };
    expect(refusal('"User":"ann"')).toMatchObject({ code: 'unsupported_parameter', param: 'user' });
    expect(refusal('"safetyIdentifier":"ann"')).toMatchObject({
      code: 'unsupported_parameter',
      param: 'safety_identifier',
    });
    expect(refusal('"user":7')).toMatchObject({ code: 'invalid_type', param: 'user' });
  });
});

describe('a chat with tags', () => {
  it.each([
    ['at the beginning', `{"tags":["a"] , "model":"m",${MESSAGES}}`, `{ "model":"m",${MESSAGES}}`],
    ['in the middle', `{"model":"m", "tags" : [],${MESSAGES}}`, `{"model":"m", ${MESSAGES}}`],
    ['at the end', `{"model":"m",${MESSAGES} , "tags":["a","b"] }`, `{"model":"m",${MESSAGES}  }`],
  ])('is passed on without them: %s', (_name, text, expected) => {
    expect(sent(text)).toBe(expected);
    expect(valueFor(chat(text), 'm', false)).toEqual(JSON.parse(expected));
  });

  it('is passed on with what else is added', () => {
    const text = `{"model":"m",${MESSAGES},"stream":true,"tags":["a"]}`;
    expect(JSON.parse(sent(text, { endUser: 'eu_1' }, true))).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      stream: true,
      stream_options: { include_usage: true },
      safety_identifier: 'eu_1',
    });
  });
});
