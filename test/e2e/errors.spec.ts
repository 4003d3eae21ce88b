import { connect } from 'node:net';
import OpenAI, { APIError } from 'openai';
import { waitUntil } from '#embedded/wait-until.js';
import { startPlatform, type CallOptions, type Platform } from '../support/platform.js';

const REQUEST = { model: 'gpt-image-2', prompt: 'a fox', resolution: '1k' };
const GENERATIONS = '/v1/images/generations';
const JSON_TYPE = { 'content-type': 'application/json' };
const MIB = 1_048_576;

describe('errors', () => {
  let platform: Platform;

  beforeAll(async () => {
    platform = await startPlatform();
  });
  afterAll(() => platform.close());

  interface ReadError {
    status: number | undefined;
    code: string | null | undefined;
    param: string | null | undefined;
    type: string | undefined;
  }

  /** The error as the official SDK hands it to its user. */
  async function throughSdk(call: (openai: OpenAI) => Promise<unknown>, apiKey = platform.key): Promise<ReadError> {
    const openai = new OpenAI({ apiKey, baseURL: `${platform.url}/v1`, maxRetries: 0 });
    const error = await call(openai).then(
      () => new Error('the call succeeded'),
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof APIError)) throw error;
    expect(error.requestID).toMatch(/^req_[0-9A-Z]{26}$/);
    const { status, code, param, type } = error as APIError<number>;
    return { status, code, param, type };
  }

  const generate = (changes: object) => (openai: OpenAI) =>
    openai.images.generate({ ...REQUEST, ...changes } as OpenAI.ImageGenerateParams);

  it.each([
    [{ prompt: '' }, 400, 'invalid_value', 'prompt', 'invalid_request_error'],
    [{ model: 'dall-e-3' }, 400, 'model_not_found', 'model', 'invalid_request_error'],
    [{ model: undefined }, 400, 'missing_required_parameter', 'model', 'invalid_request_error'],
    [{ n: 2 }, 400, 'integer_above_max_value', 'n', 'invalid_request_error'],
    [{ size: '1024x32' }, 400, 'invalid_value', 'size', 'invalid_request_error'],
    [{ image_urls: ['http://127.0.0.1/a.png'] }, 400, 'invalid_image_url', 'image_urls[0]', 'invalid_request_error'],
    [
      { image_urls: Array(17).fill('https://a.example/b.png') },
      400,
      'array_above_max_length',
      'image_urls',
      'invalid_request_error',
    ],
    [{ prompt: '[[fault=moderation]]' }, 400, 'moderation_blocked', 'prompt', 'image_generation_user_error'],
  ])('the SDK reads %p as %d %s', async (changes, status, code, param, type) => {
    expect(await throughSdk(generate(changes))).toEqual({ status, code, param, type });
  });

  it('the SDK reads a wrong key and an unknown model of the list', async () => {
    expect(await throughSdk(generate({}), 'sk-wrong')).toEqual({
      status: 401,
      code: 'invalid_api_key',
      param: null,
      type: 'authentication_error',
    });
    expect(await throughSdk((openai) => openai.models.retrieve('gpt-5'))).toMatchObject({
      status: 404,
      code: 'model_not_found',
      type: 'invalid_request_error',
    });
  });

  it('a failure of the provider is told once, and not to be repeated', async () => {
    const response = await platform.call(GENERATIONS, { body: { ...REQUEST, prompt: '[[fault=http-500]]' } });
    expect(response.status).toBe(502);
    expect(response.headers.get('x-should-retry')).toBe('false');
    expect(response.headers.get('x-task-id')).toMatch(/^task_/);
    expect(await response.json()).toMatchObject({ error: { type: 'upstream_error', code: 'upstream_error' } });
  });

  const LATIN_1 = Buffer.from(JSON.stringify({ ...REQUEST, prompt: 'Zürich' }), 'latin1');
  const json = (body: string): CallOptions => ({ body, headers: JSON_TYPE });
  it.each<[string, string, CallOptions, number, string]>([
    ['an unknown path', '/v1/nothing', {}, 404, 'unknown_url'],
    ['variations', '/v1/images/variations', { body: {} }, 404, 'unknown_url'],
    ['a chat path without prefix', '/chat/completions', { body: {} }, 404, 'unknown_url'],
    ['a path with a slash too many', `${GENERATIONS}/`, { body: REQUEST }, 404, 'unknown_url'],
    ['a path that cannot be decoded', '/v1/models/%E0%A4%A', {}, 400, 'invalid_value'],
    ['a wrong method', GENERATIONS, {}, 405, 'method_not_allowed'],
    ['JSON cut short', GENERATIONS, json('{"model":'), 400, 'invalid_json'],
    ['JSON in Latin-1', GENERATIONS, { body: LATIN_1, headers: JSON_TYPE }, 400, 'invalid_json'],
    ['an edit in Latin-1', '/v1/images/edits', { body: LATIN_1, headers: JSON_TYPE }, 400, 'invalid_json'],
    ['an empty body', GENERATIONS, json(''), 400, 'invalid_json'],
    ['an array', GENERATIONS, json('[]'), 400, 'invalid_json'],
    ['null', GENERATIONS, json('null'), 400, 'invalid_json'],
    ['a body without end', GENERATIONS, json(`{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`), 400, 'invalid_json'],
    ['text', GENERATIONS, { body: 'x', headers: { 'content-type': 'text/plain' } }, 415, 'unsupported_media_type'],
    ['a form', GENERATIONS, { body: new FormData() }, 415, 'unsupported_media_type'],
    [
      'an unknown encoding',
      GENERATIONS,
      { body: 'x', headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } },
      415,
      'unsupported_media_type',
    ],
    ['65 MiB of JSON', GENERATIONS, json(`{"a":"${'x'.repeat(65 * MIB)}"}`), 413, 'request_too_large'],
  ])('%s is answered in the contract’s body', async (_name, path, options, status, code) => {
    const response = await platform.call(path, options);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    const body = (await response.json()) as { request_id: string };
    expect(body).toEqual({
      type: 'error',
      error: { type: expect.any(String) as string, code, message: expect.any(String) as string, param: null },
      request_id: response.headers.get('x-request-id'),
    });
  });

  it.each([
    '/v1/responses/compact',
    '/v1/conversations',
    '/v1/audio/speech',
    '/v1/embeddings',
    '/v1/messages?beta=true',
  ])('an endpoint that other services have is said not to be offered: %s', async (path) => {
    const response = await platform.call(path, { body: {} });
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    expect([response.status, error.code]).toEqual([404, 'unknown_url']);
    expect(error.message).toMatch(/^This service does not offer \/v1\/[a-z/]+\. /);
  });

  it.each([
    [GENERATIONS, 'DELETE', 'POST'],
    ['/v1/images/edits', 'GET', 'POST'],
    ['/v1/tasks', 'POST', 'GET, HEAD, DELETE'],
    ['/v1/tasks/task_1', 'PUT', 'GET, HEAD, DELETE'],
    ['/v1/tasks/task_1?a=/b', 'PUT', 'GET, HEAD, DELETE'],
    ['/v1/tasks/batch', 'PUT', 'POST, GET, HEAD, DELETE'],
    ['/docs/a/b.css', 'POST', 'GET, HEAD'],
    ['/v1/models', 'PATCH', 'GET, HEAD'],
  ])('%s does not take %s and says what it takes', async (path, method, allow) => {
    const response = await platform.call(path, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe(allow);
  });

  it('a large chunked body is refused while it arrives', async () => {
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        sent += MIB;
        controller.enqueue(Buffer.alloc(MIB, ' '));
        if (sent >= 100 * MIB) controller.close();
      },
    });
    const response = await platform.call(GENERATIONS, { body, headers: JSON_TYPE });
    expect(response.status).toBe(413);
  });

  it('tasks carry the status in their body too', async () => {
    for (const path of ['/v1/tasks/nope', '/v1/tasks/%E0%A4%A', '/v1/tasks/task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A']) {
      const response = await platform.call(path);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({
        code: 404,
        error: { type: 'not_found_error', code: 'task_not_found', param: null, message: 'Task not found.' },
      });
    }
    expect((await platform.call('/v1/tasks?since=-99999999999')).status).toBe(200);
    expect(await (await platform.call('/v1/tasks?limit=0')).json()).toMatchObject({
      code: 400,
      error: { param: 'limit' },
    });
    expect(await (await platform.call('/v1/tasks', { key: null })).json()).toMatchObject({ code: 401 });
  });

  it('no answer tells what it runs on, and none is without CORS and an id', async () => {
    for (const path of ['/', '/v1/nothing', '/v1/models', '/healthz', '/i/x?exp=1&sig=2']) {
      const response = await platform.call(path);
      expect(response.headers.get('x-request-id')).toMatch(/^req_/);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      expect(response.headers.get('x-powered-by')).toBeNull();
      expect(response.headers.get('server')).toBeNull();
      expect(await response.text()).not.toMatch(/node_modules|\.js:\d|Fastify|Nest|statusCode/);
    }
  });

  it('lets browsers call from anywhere with any header', async () => {
    const preflight = await platform.call(GENERATIONS, {
      method: 'OPTIONS',
      key: null,
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,x-stainless-lang',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization,x-stainless-lang');
    expect(preflight.headers.get('access-control-allow-methods')).toContain('POST');
    const exposed = (await platform.call('/v1/models')).headers.get('access-control-expose-headers');
    expect(exposed).toBe(
      'x-request-id, x-task-id, location, retry-after, retry-after-ms, x-should-retry, ' +
        'idempotency-replayed, x-ignored-params, preference-applied, openai-processing-ms, ' +
        'x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests',
    );
  });

  /** What comes back for bytes that are written to the socket as they are. */
  function raw(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(Number(new URL(platform.url).port), '127.0.0.1');
      let answer = '';
      socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
      socket.on('close', () => {
        resolve(answer);
      });
      socket.on('error', reject);
      socket.write(text);
    });
  }

  it.each([
    ['no HTTP', 'GARBAGE\r\n\r\n', 400, 'invalid_value'],
    ['headers too large', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['a tunnel', 'CONNECT a.example:443 HTTP/1.1\r\nhost: x\r\n\r\n', 405, 'method_not_allowed'],
    ['an odd method', 'PROPFIND /v1/tasks HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n', 405, 'method_not_allowed'],
    ['a query', 'QUERY /v1/tasks HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n', 405, 'method_not_allowed'],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
      400,
      'invalid_value',
    ],
  ])('%s is answered in the contract’s body too', async (_name, text, status, code) => {
    const [head = '', body = ''] = (await raw(text)).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const id = /x-request-id: (\S+)/i.exec(head)?.[1];
    expect(JSON.parse(body)).toMatchObject({ type: 'error', error: { code, param: null }, request_id: id });
  });

  it('callers who ask for a tunnel and reset the connection do not end the process', async () => {
    for (let round = 0; round < 20; round++) {
      const socket = connect(Number(new URL(platform.url).port), '127.0.0.1');
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.write('CONNECT a.example:443 HTTP/1.1\r\nhost: x\r\n\r\n', () => socket.resetAndDestroy());
      await closed;
    }
    expect((await platform.call('/v1/models')).status).toBe(200);
  });

  it('a request without Host or with a strange expectation is a request all the same', async () => {
    expect(await raw('GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n')).toMatch(/^HTTP\/1.1 200 /);
    expect(await raw('GET /healthz HTTP/1.1\r\nhost: x\r\nexpect: wonders\r\nconnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1.1 200 /,
    );
  });

  it('logs one line per request with the pattern of its route, and no key, prompt or link', async () => {
    const canary = 'canary-prompt-7f3a';
    const response = await platform.call(GENERATIONS, {
      body: { ...REQUEST, prompt: canary, user: 'canary-user-7f3a' },
      headers: { 'x-client-request-id': 'mine-1' },
    });
    const { data } = (await response.json()) as { data: { url: string }[] };
    const image = await fetch(data[0]?.url ?? '');
    await image.arrayBuffer();
    const poll = await platform.call('/v1/tasks/canary-id-7f3a?language=canary-query-7f3a');
    const id = response.headers.get('x-request-id');
    const lineOf = (id: string | null) =>
      platform.api.logs().find((entry) => entry['requestId'] === id && entry['event'] === 'request');
    const line = () => lineOf(id);
    const all = () => [response, image, poll].every(({ headers }) => lineOf(headers.get('x-request-id')) !== undefined);
    expect(await waitUntil(all, { timeoutMs: 30_000 })).toBe(true);
    expect(line()).toMatchObject({
      method: 'POST',
      route: GENERATIONS,
      status: 200,
      taskId: response.headers.get('x-task-id'),
      clientRequestId: 'mine-1',
      durationMs: expect.any(Number) as number,
    });
    const output = platform.api.output();
    expect(output).toContain('"route":"/i/:name"');
    expect(output).not.toMatch(/canary/);
    expect(output).not.toContain(platform.key);
    expect(output).not.toMatch(/sig=[A-Za-z0-9_-]{22}/);
  });
});
