import { rawCall } from '../support/raw-call.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

/** Of OpenAI's API, and not offered. */
const UNKNOWN = [
  '/v1/images/variations',
  '/v1/embeddings',
  '/v1/conversations',
  '/v1/nothing',
  '/files',
  '//',
  '*',
  '*v1/models',
];
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

describe('addresses', () => {
  let platform: ApiPlatform;
  beforeAll(async () => {
    platform = await startApiPlatform();
  });
  afterAll(() => platform.close());

  const heading = (method: string, path: string, headers: readonly string[]): string =>
    [`${method} ${path} HTTP/1.1`, 'Host: x', 'Connection: close', ...headers, '', ''].join('\r\n');

  it.each(UNKNOWN)('that are none are 404 with any method and any body, before it is read: %s', async (path) => {
    const multipart = 'Content-Type: multipart/form-data; boundary=b';
    const bodies: [string[], string][] = [
      [[], ''],
      [['Content-Type: application/json', 'Content-Length: 9'], '{"a":1}  '],
      [['Content-Type: application/json', 'Content-Length: 3'], '{"a'],
      // Announced and never sent: whoever waited for it would never answer.
      [['Content-Type: application/json', 'Content-Length: 1000000'], '{'],
      [[multipart, 'Content-Length: 1000000'], '--b\r\n'],
      [[multipart, 'Transfer-Encoding: chunked'], '5\r\n--b\r\n\r\n'],
      [['Content-Type: application/octet-stream', 'Content-Length: 300000000'], 'x'],
      [['Content-Type: no type at all', 'Content-Length: 5'], 'x'],
      [['Content-Length: 5'], 'x'],
      [['Content-Type: application/json', 'Content-Encoding: gzip', 'Content-Length: 5'], 'x'],
    ];
    for (const method of METHODS) {
      for (const [headers, body] of bodies) {
        for (const key of [[], [`Authorization: Bearer ${platform.key}`]]) {
          const answer = await rawCall(platform.url, heading(method, path, [...headers, ...key]) + body);
          const { error } = JSON.parse(answer?.text ?? '{}') as { error?: { code: string; type: string } };
          expect([method, headers, answer?.status, error?.code]).toEqual([method, headers, 404, 'unknown_url']);
          expect(error?.type).toBe('not_found_error');
        }
      }
    }
  });

  it('of the service itself sends browsers to the console', async () => {
    const response = await fetch(`${platform.url}/`, {
      headers: { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' },
      redirect: 'manual',
    });
    expect([response.status, response.headers.get('location')]).toEqual([302, '/console']);
    expect(response.headers.get('vary')).toContain('Accept');
  });

  it('of the service itself tells programs where the API, its document and its reference are', async () => {
    for (const headers of [{}, { accept: 'application/json' }]) {
      const response = await fetch(`${platform.url}/`, { headers });
      expect([response.status, response.headers.get('content-type')]).toEqual([
        ...[200, expect.stringMatching(/^application\/json/)],
      ]);
      const home = (await response.json()) as Record<string, string>;
      expect(home).toMatchObject({ name: 'Darkroom', api: expect.stringMatching(/\/v1$/) as string });
      const at = async (address = '', key?: string) =>
        (await fetch(address, { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } })).status;
      expect(await at(home['openapi'])).toBe(200);
      expect(await at(home['reference'])).toBe(200);
      expect(await at(`${home['api'] ?? ''}/models`, platform.key)).toBe(200);
    }
    expect((await fetch(`${platform.url}/`, { method: 'POST', body: '{}' })).status).toBe(405);
  });
});
