import { connect, type Socket } from 'node:net';
import { ApiConfig } from '../../apps/api/src/common/api.config.js';
import { createAdapter } from '../../apps/api/src/common/fastify/server.js';
import { limitArrival } from '../../apps/api/src/common/fastify/slow-clients.js';
import {
  startApiPlatform,
  startPlatform,
  type ApiPlatform,
  type CallOptions,
  type Platform,
} from '../support/platform.js';
import { startApi } from '../support/processes.js';

const GENERATIONS = '/v1/images/generations';
const BODY = { model: 'gpt-image-2', prompt: 'a fox', resolution: '1k' };
const POSTS = [
  GENERATIONS,
  '/images/generations',
  `${GENERATIONS}/async`,
  '/v1/images/edits',
  '/v1/images/edits/async',
  '/v1/uploads/images',
];

describe('the surface', () => {
  let platform: Platform;
  beforeAll(async () => {
    platform = await startPlatform({ RATE_SUBMITS_PER_MINUTE: '1000' });
  });
  afterAll(() => platform.close());

  it.each(POSTS)('POST %s takes no other method, and says so', async (path) => {
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const response = await platform.call(path, { method });
      expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, 'POST']);
      expect(response.headers.get('x-request-id')).toMatch(/^req_/);
      if (method === 'HEAD') expect(await response.text()).toBe('');
      else expect(await response.json()).toMatchObject({ type: 'error', error: { code: 'method_not_allowed' } });
    }
  });

  it.each([
    '/chat/completions',
    '/images/edits',
    '/images/generations/async',
    '/tasks/task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A',
    '/models',
    '/uploads/images',
    '/v1/images/variations',
    '/v2/images/generations',
    '/V1/images/generations',
    '/v1/v1/images/generations',
  ])('has no other alias: %s', async (path) => {
    const response = await platform.call(path, { body: BODY });
    expect(response.status).toBe(404);
    const { code, type } = ((await response.json()) as { error: { code: string; type: string } }).error;
    expect([code, type]).toEqual(['unknown_url', 'not_found_error']);
  });

  it.each(['/v1/models', '/v1/models/gpt-image-2', '/v1/tasks', '/healthz', '/openapi.json'])(
    'HEAD %s has the headers of GET and no body',
    async (path) => {
      const get = await platform.call(path);
      const head = await platform.call(path, { method: 'HEAD' });
      expect([head.status, await head.text()]).toEqual([200, '']);
      expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'));
      expect(head.headers.get('x-request-id')).toMatch(/^req_/);
    },
  );

  it('answers every success with 200, and an asynchronous acceptance with 202', async () => {
    const answer = await platform.call(GENERATIONS, { body: BODY });
    const id = answer.headers.get('x-task-id') ?? '';
    const calls: [string, CallOptions, number][] = [
      [GENERATIONS, { body: BODY }, 200],
      [`${GENERATIONS}/async`, { body: BODY }, 202],
      [`/v1/tasks/${id}/cancel`, { method: 'POST' }, 200],
      ['/v1/tasks/batch', { body: { task_ids: [id] } }, 200],
      [`/v1/tasks/${id}`, {}, 200],
      [`/v1/tasks/${id}?wait=1`, {}, 200],
      [`/v1/tasks/${id}/events`, {}, 200],
      ['/v1/tasks', {}, 200],
      ['/v1/models', {}, 200],
    ];
    for (const [path, options, status] of calls) {
      const response = await platform.call(path, options);
      expect([path, response.status]).toEqual([path, status]);
      await response.text();
    }
  });

  it('names every request anew, whatever id its caller brings', async () => {
    const headers = { 'x-request-id': 'mine', 'x-client-request-id': 'mine' };
    const ids = new Set<string | null>();
    for (const path of ['/v1/models', '/v1/models', '/v1/nothing']) {
      ids.add((await platform.call(path, { headers })).headers.get('x-request-id'));
    }
    expect(ids.size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^req_[0-9A-HJKMNP-TV-Z]{26}$/);
  });

  it('says on every image answer what is left of the minute', async () => {
    const key = await platform.newKey();
    const good = await platform.call(GENERATIONS, { body: BODY, key });
    const bad = await platform.call(GENERATIONS, { body: {}, key });
    const left = [good, bad].map(({ headers }) => [
      headers.get('x-ratelimit-limit-requests'),
      headers.get('x-ratelimit-remaining-requests'),
      headers.get('ratelimit-policy'),
    ]);
    expect(left).toEqual([
      ['1000', '999', '"submits";q=1000;w=60'],
      ['1000', '998', '"submits";q=1000;w=60'],
    ]);
    for (const { headers } of [good, bad]) {
      expect(headers.get('x-ratelimit-reset-requests')).toMatch(/^(\d{1,2}s|1m0s)$/);
      expect(headers.get('ratelimit')).toMatch(/^"submits";r=\d+;t=\d+$/);
    }
  });

  it.each<[string, CallOptions]>([
    [GENERATIONS, { body: BODY }],
    [GENERATIONS, { body: {} }],
    [GENERATIONS, { body: BODY, key: null }],
    [GENERATIONS, { method: 'GET' }],
    ['/v1/nothing', {}],
    ['/v1/tasks/nope/events', {}],
    [GENERATIONS, { body: { ...BODY, stream: true } }],
  ])('lets a page read the answer of %s %j, and the headers that it needs', async (path, options) => {
    const response = await platform.call(path, { ...options, headers: { origin: 'https://a.example' } });
    await response.text();
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('access-control-allow-credentials')).toBeNull();
    const exposed = (response.headers.get('access-control-expose-headers') ?? '').split(', ');
    expect(exposed).toEqual(
      expect.arrayContaining(['x-request-id', 'x-task-id', 'retry-after', 'retry-after-ms', 'idempotency-replayed']),
    );
  });

  it('is version 1.0.0 of a document whose every operation can be called', async () => {
    const document = (await (await platform.call('/openapi.json', { key: null })).json()) as {
      info: { version: string };
      paths: Record<string, Record<string, unknown>>;
    };
    expect(document.info.version).toBe('1.0.0');
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const method of Object.keys(methods)) {
        const response = await platform.call(path.replace(/\{\w+\}/, 'x'), { method: method.toUpperCase() });
        const text = await response.text();
        expect([path, method, text.includes('unknown_url'), response.status]).not.toEqual([
          path,
          method,
          true,
          expect.anything(),
        ]);
        expect([path, method, response.status]).not.toEqual([path, method, 405]);
      }
    }
  });

  it('takes headers of almost 16 KB', async () => {
    const response = await platform.call('/v1/models', { headers: { 'x-filler': 'a'.repeat(15_000) } });
    expect(response.status).toBe(200);
  });
});

describe('the HTTP server', () => {
  it('gives requests the time that the design says', async () => {
    const adapter = createAdapter();
    limitArrival(adapter.getHttpServer(), new ApiConfig());
    expect(adapter.getHttpServer()).toMatchObject({
      headersTimeout: 15_000,
      requestTimeout: 120_000,
      keepAliveTimeout: 75_000,
      connectionsCheckingInterval: 5_000,
      maxHeaderSize: 16_384,
    });
    await adapter.close();
  });
});

describe('connections without a key', () => {
  let platform: ApiPlatform;
  beforeAll(async () => {
    platform = await startApiPlatform();
  });
  afterAll(() => platform.close());

  it('are bounded for each address; one that shows a key, or ends, is counted no more', async () => {
    const api = await startApi({ ...platform.settings, UNAUTHENTICATED_CONNECTIONS: '4' });
    const sockets: Socket[] = [];
    const open = (localAddress = '127.0.0.1'): Socket => {
      const socket = connect({ port: Number(new URL(api.url).port), host: '127.0.0.1', localAddress });
      socket.on('error', () => undefined);
      sockets.push(socket);
      return socket;
    };
    /** The status of the answer, or that there was none. */
    const ask = (socket: Socket, path: string, key = ''): Promise<string> =>
      new Promise((resolve) => {
        const over = (text: string): void => {
          socket.off('data', onData).off('close', onClose);
          resolve(text);
        };
        const onData = (data: Buffer): void => over(data.toString('latin1').slice(9, 12));
        const onClose = (): void => over('closed');
        socket.on('data', onData).on('close', onClose);
        const authorization = key === '' ? '' : `authorization: Bearer ${key}\r\n`;
        socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n${authorization}\r\n`);
      });
    const known = open();
    expect(await ask(known, '/v1/models', platform.key)).toBe('200');
    const unknown: Socket[] = [];
    for (;;) {
      const socket = open();
      if ((await ask(socket, '/healthz')) === 'closed') break;
      unknown.push(socket);
    }
    // Who asked whether the process is ready may hold one, too.
    expect([3, 4]).toContain(unknown.length);
    expect(await ask(open(), '/v1/models', platform.key)).toBe('closed');
    expect(await ask(known, '/v1/models', platform.key)).toBe('200');
    expect((await api.logged('connections.refused'))['count']).toBe(4);
    const behind = await startApi({
      ...platform.settings,
      UNAUTHENTICATED_CONNECTIONS: '1',
      TRUSTED_PROXIES: '127.0.0.1',
    });
    const proxied = Array.from({ length: 5 }, () => connect(Number(new URL(behind.url).port), '127.0.0.1'));
    sockets.push(...proxied);
    for (const socket of proxied) expect(await ask(socket, '/healthz')).toBe('200');
    await behind.stop();

    expect(await ask(unknown[0] as Socket, '/v1/models', 'sk-wrong')).toBe('401');
    expect(await ask(open(), '/healthz')).toBe('closed');
    expect(await ask(unknown[1] as Socket, '/v1/models', platform.key)).toBe('200');
    expect(await ask(open(), '/healthz')).toBe('200');
    expect(await ask(open(), '/healthz')).toBe('closed');

    // All addresses of a wider network, of which one line or company has many, have twice as many together.
    const served: string[] = [];
    for (let address = 1; address <= 12; address++) served.push(await ask(open(`127.8.8.${address}`), '/healthz'));
    expect(served).toEqual([...Array<string>(8).fill('200'), ...Array<string>(4).fill('closed')]);
    expect(await ask(open('127.8.9.1'), '/healthz')).toBe('200');
    for (const socket of sockets) socket.destroy();
    await api.stop();
  });
});
