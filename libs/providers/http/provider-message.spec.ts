import { providerMessage } from './provider-message.js';

const KEY = 'correct-horse-battery';
const said = (body: unknown): string | undefined => providerMessage(body, [KEY]);

describe('what a provider said of a failure', () => {
  it.each([
    ['OpenAI', { error: { message: 'boom internal', type: 'server_error' } }],
    ['an error that is a text', { error: 'boom internal' }],
    ['a message alone', { message: 'boom internal', code: 7 }],
    ['a detail', { detail: 'boom internal' }],
    ['a list of details', { detail: [{ loc: ['body', 'size'], msg: 'boom internal' }] }],
    ['an error within data', { data: { error: { message: 'boom internal' } } }],
    ['plain text', 'boom internal\n'],
  ])('is found in %s', (_shape, body) => {
    expect(said(body)).toBe('boom internal');
  });

  it.each([
    ['a page', '<html><body>502 Bad Gateway</body></html>'],
    ['JSON that breaks off', '{"error":{"message":"boo'],
    ['nothing', ''],
    ['a code alone', { error: { code: 'x' } }],
    ['a list', ['boom']],
    ['null', null],
  ])('is nothing in %s', (_shape, body) => {
    expect(said(body)).toBeUndefined();
  });

  it.each([
    ['The model `gpt-image-1-mini-2025-10-06` does not exist', undefined],
    ['Qwen-Image-Edit-2509-Lightning-4steps is not deployed (request 42)', undefined],
    ['You exceeded your current quota, please check your plan: https://example.com/docs/errors', undefined],
    ['Too many tokens: 5000 of 4096', undefined],
    ['No skeleton was found in the image', undefined],
    [`The key ${KEY} is refused`, 'The key [redacted] is refused'],
    ['Incorrect API key provided: sk-proj-abc***wxyz.', 'Incorrect API key provided: [redacted]'],
    ['Incorrect API key provided: ab12*******89yz.', 'Incorrect API key provided: [redacted].'],
    ['Sent authorization: Bearer abc.def.ghi, which ended', 'Sent authorization: [redacted] [redacted], which ended'],
    ['api_key="hunter2hunter2" is wrong', 'api_key="[redacted]" is wrong'],
    ['Project 4f9c0d2ab17e4c55a0e3d1f2b3c4d5e6 is unknown', 'Project [redacted] is unknown'],
    ['GET https://u:p4ss@host.test/v1/x?sig=abc&k=1#f failed', 'GET https://host.test/v1/x?… failed'],
    [`Could not read data:image/png;base64,${'A'.repeat(90)} as an image`, 'Could not read [data] as an image'],
    [`Could not read ${'iVBORw0KGgo/'.repeat(20)}== as an image`, 'Could not read [data] as an image'],
    ['one\u0000two\u001b[31m\r\n\tthree\u202e four', 'one two [31m three four'],
  ])('keeps what helps and cuts what must not be kept: %s', (text, expected = text) => {
    expect(said({ error: { message: text } })).toBe(expected);
  });

  it('is 300 characters at most, without half a character or half a key', () => {
    const long = said('😀'.repeat(400)) ?? '';
    expect(Array.from(long)).toHaveLength(300);
    expect(Buffer.from(long).toString()).toBe(long);
    expect(said(`${'a '.repeat(1_995)}${KEY}${' b'.repeat(40)}`)).not.toContain(KEY.slice(0, 8));
    expect(said(`data:image/png;base64,${'Zm9v'.repeat(990)} ${'x '.repeat(5)}${KEY}`)).not.toContain(KEY.slice(0, 8));
  });
});
