import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, isIPv6, type AddressInfo, type Socket } from 'node:net';
import { waitUntil } from '#embedded/wait-until.js';
import { startBalancer, type TestBalancer } from '../support/balancer.js';

// Real: HAProxy with the file we ship. Only its addresses are others, and the PROXY protocol says who calls.
const CONNECTIONS = 6;
const REQUESTS = 20;
let balancer: TestBalancer;
const held = new Set<ServerResponse>();
const open = new Set<Socket>();
const api = createServer((request, response) => {
  if (request.url !== '/hold') return response.end('served');
  held.add(response);
  return request.on('close', () => held.delete(response));
});

interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

beforeAll(async () => {
  api.listen(0, '127.0.0.1');
  await once(api, 'listening');
  balancer = await startBalancer({
    apis: [`http://127.0.0.1:${(api.address() as AddressInfo).port}`],
    acceptProxy: true,
    env: { SOURCE_CONNECTIONS: String(CONNECTIONS), SOURCE_REQUESTS: String(REQUESTS) },
    serves: async (at) => (await ask('192.0.2.1', '/', at)).status === 200,
  });
});

afterEach(() => {
  for (const socket of open) socket.destroy();
  for (const response of held) response.end();
});

afterAll(async () => {
  await balancer.stop();
  api.closeAllConnections();
  api.close();
});

async function callFrom(source: string, port = balancer.port): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  open.add(socket);
  socket.once('close', () => open.delete(socket));
  socket.on('error', () => socket.destroy());
  await once(socket, 'connect');
  const [family, ours] = isIPv6(source) ? ['TCP6', '2001:db8::1'] : ['TCP4', '192.0.2.254'];
  socket.write(`PROXY ${family} ${source} ${ours} 4000 8080\r\n`);
  return socket;
}

/** One call on a connection of its own; status 0 when it is closed unanswered. */
async function ask(source: string, path = '/', port?: number, method = 'GET'): Promise<Answer> {
  const socket = await callFrom(source, port);
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: darkroom\r\nConnection: close\r\n\r\n`);
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => (text += part));
  // A reset is a close, too.
  await new Promise((resolve) => socket.once('close', resolve));
  const [head = '', body = ''] = text.split(/\r\n\r\n(.*)/s);
  const [line = '', ...fields] = head.split('\r\n');
  const headers = new Map(
    fields.map(
      (field) =>
        field
          .toLowerCase()
          .split(/: (.*)/s)
          .slice(0, 2) as [string, string],
    ),
  );
  return { status: Number(line.split(' ')[1] ?? 0), headers, body };
}

/** Calls from these sources in turn until one is refused; how many were served before. */
async function untilRefused(sources: readonly string[]): Promise<{ served: number; refusal: Answer | undefined }> {
  for (let served = 0; served < 10 * REQUESTS; served++) {
    const answer = await ask(sources[served % sources.length] ?? '');
    if (answer.status !== 200) return { served, refusal: answer };
  }
  return { served: 10 * REQUESTS, refusal: undefined };
}

function expectRefusal(answer: Answer | undefined, code: string): void {
  expect(answer?.status).toBe(429);
  const message: unknown = expect.stringMatching(/^Too many .* your address\.$/);
  expect(JSON.parse(answer?.body ?? '')).toEqual({
    type: 'error',
    error: { type: 'rate_limit_error', code, message, param: null },
  });
  expect(answer?.headers.get('content-type')).toBe('application/json');
  expect(answer?.headers.get('x-should-retry')).toBe('true');
  expect(Number(answer?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(Number(answer?.headers.get('retry-after'))).toBeLessThanOrEqual(60);
}

it('M5: refuses a source that asks too often, when to come back in the answer, and serves another', async () => {
  const { served, refusal } = await untilRefused(['198.51.100.7']);
  expect(served).toBeGreaterThanOrEqual(REQUESTS);
  expectRefusal(refusal, 'rate_limit_exceeded');
  expect((await ask('198.51.100.8')).status).toBe(200);
});

it('answers a request for a tunnel itself', async () => {
  const { status, headers, body } = await ask('198.51.100.9', 'darkroom:80', undefined, 'CONNECT');
  expect(status).toBe(405);
  expect(headers.get('content-type')).toBe('application/json');
  expect(JSON.parse(body)).toMatchObject({ type: 'error', error: { code: 'method_not_allowed', param: null } });
});

it('M5: takes all addresses of an IPv6 /64 for one source, which one machine can have all of', async () => {
  const { served, refusal } = await untilRefused(['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', '2001:db8:1:2:3:4:5:6']);
  expect(served).toBeGreaterThanOrEqual(REQUESTS);
  expectRefusal(refusal, 'rate_limit_exceeded');
  expect((await ask('2001:db8:1:3::1')).status).toBe(200);
});

it('M5: speaks no HTTP/2, of which one connection would carry many requests past the limits', async () => {
  const socket = await callFrom('203.0.113.9');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => parts.push(part));
  // What a client begins with that knows the server speaks HTTP/2, and its empty SETTINGS.
  socket.write(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1'));
  await closed;
  // What follows the preface is answered as a second request.
  const [first = ''] = Buffer.concat(parts)
    .toString('latin1')
    .split(/(?<=})(?=HTTP)/);
  const [head = '', body = ''] = first.split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.[01] 400 /);
  expect(JSON.parse(body)).toMatchObject({ type: 'error', error: { code: 'invalid_value', param: null } });
});

it('M5: refuses a source that holds too many connections, closes twice as many, and serves another', async () => {
  const source = '203.0.113.7';
  const calls = Array.from({ length: CONNECTIONS }, () => ask(source, '/hold'));
  expect(await waitUntil(() => held.size === CONNECTIONS, { timeoutMs: 30_000 })).toBe(true);
  expectRefusal(await ask(source), 'concurrency_limit_exceeded');
  let idle: Socket[] = [];
  const isClosedUnanswered = async (): Promise<boolean> => {
    // They send nothing, so the balancer closes them after a while; on a slow machine some before the last is open.
    idle = idle.filter((socket) => !socket.closed);
    while (idle.length < CONNECTIONS + 1) idle.push((await callFrom(source)).resume());
    return (await ask(source)).status === 0;
  };
  expect(await waitUntil(isClosedUnanswered, { timeoutMs: 30_000 })).toBe(true);
  expect((await ask('203.0.113.8')).status).toBe(200);
  for (const socket of idle) socket.destroy();
  for (const response of held) response.end('at last');
  expect((await Promise.all(calls)).map(({ body }) => body)).toEqual(calls.map(() => 'at last'));
});
