import { refusalBody } from './upstream-refusal.js';

const told = (error: object) =>
  refusalBody({ status: 400, headers: {}, text: JSON.stringify({ error }) }, 'req_1').error;

describe('a refusal of a provider', () => {
  it('is told with its words', () => {
    const error = { type: 'invalid_request_error', code: 'bad_value', param: 'messages[0].content', message: 'No.' };
    expect(told(error)).toEqual(error);
    expect(told({ code: 42 })).toMatchObject({ code: '42', type: 'invalid_request_error', param: null });
  });

  it.each(['sk-live-0123456789abcdef', 'a b', 'x'.repeat(65), 'http://10.0.0.1/', '<b>', 'é', 'a\nb'])(
    'is told without a type, code or param that is no plain word: %j',
    (text) => {
      expect(told({ type: text, code: text, param: text, message: 'No.' })).toEqual({
        type: 'invalid_request_error',
        code: null,
        param: null,
        message: 'No.',
      });
    },
  );

  it('is told without secrets, and cut', () => {
    const { message } = told({ message: `key sk-live-0123456789abcdef ${'x y '.repeat(5_000)}` });
    expect(message).not.toContain('0123456789abcdef');
    expect(message).toHaveLength(2_000);
  });
});
