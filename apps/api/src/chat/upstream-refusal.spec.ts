import { Readable } from 'node:stream';
import { mayAskAnother, readRefusal, refusalBody, secondsToWait } from './upstream-refusal.js';

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

  const read = (status: number, body: string, headers = {}) =>
    readRefusal({ status, headers, body: Readable.from([Buffer.from(body)]) }, ['chat.internal', 'hunter2hunter2']);

  it('V2: is a bad request when moderation blocks a prompt with 403, and shown to nobody else', async () => {
    const refusal = await read(403, '{"error":{"code":403,"message":"Flagged.","metadata":{"flagged_input":"x"}}}');
    expect([refusal.status, mayAskAnother(refusal)]).toEqual([400, false]);
    expect(refusalBody(refusal, 'req_1').error).toMatchObject({ code: 'moderation_blocked', message: 'Flagged.' });
    const denied = await read(403, '{"error":{"message":"Your account is disabled for violating our policies."}}');
    expect([denied.status, mayAskAnother(denied)]).toEqual([403, true]);
  });

  it.each([
    ['{"detail":[{"loc":["body","top_p"],"msg":"at most 1","type":"x"}]}', 'at most 1'],
    ['{"detail":"no such model at chat.internal"}', 'no such model at [redacted]'],
    ['out of memory, hunter2hunter2', 'out of memory, [redacted]'],
    [`{"message":"too long","trace":"${'x'.repeat(300_000)}"}`, 'too long'],
  ])('V8: is told with its reason, in whatever shape, without names of ours: %#', async (body, message) => {
    expect(refusalBody(await read(400, body), 'req_1').error.message).toBe(message);
  });

  it('V10: knows how long to wait', async () => {
    expect(secondsToWait(await read(429, '', { 'retry-after': '2.5' }))).toBe(2.5);
    expect(secondsToWait(await read(503, '', { 'retry-after': '3s' }))).toBe(3);
  });
});
