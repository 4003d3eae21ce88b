import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { waitUntil } from '#embedded/wait-until.js';
import { startBalancer, type TestBalancer } from '../support/balancer.js';

// Real: HAProxy with the file we ship, and as many sources as loopback has addresses. Only its numbers are smaller.
const ALL = 200;
const LIMITS = {
  BALANCER_CONNECTIONS: String(ALL),
  SOURCE_CONNECTIONS: '50',
  NETWORK_CONNECTIONS: '50',
  SOURCE_REQUESTS: '100000',
};
const HEAD = 'Host: darkroom\r\n';
/** Ways to hold a connection. */
const KINDS = {
  'send nothing': '',
  'send half a head': `GET / HTTP/1.1\r\n${HEAD}X-Slow: `,
  'stay idle after a request': `GET / HTTP/1.1\r\n${HEAD}\r\n`,
  'send a body slowly': `POST /body HTTP/1.1\r\n${HEAD}Content-Length: 100000\r\n\r\n{`,
  'wait for long calls': `GET /hold HTTP/1.1\r\n${HEAD}\r\n`,
};

const api = createServer((request, response) => {
  if (request.url === '/hold') return;
  request.resume().on('end', () => response.end('served'));
});
let balancer: TestBalancer;
const open = new Set<Socket>();

beforeAll(async () => {
  api.listen(0, '127.0.0.1');
  await once(api, 'listening');
});
afterEach(async () => {
  for (const socket of open) socket.destroy();
  await balancer.stop();
});
afterAll(() => {
  api.closeAllConnections();
  api.close();
});

async function start(acceptProxy: boolean): Promise<void> {
  const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
  balancer = await startBalancer({
    apis: [url],
    env: LIMITS,
    acceptProxy,
    serves: async (port) => (await ask(acceptProxy ? '2001:db8:ffff::1' : '127.200.0.1', port)) === 200,
  });
}

/** A connection from an address of this machine, or from any IPv6 address by the PROXY protocol. */
async function callFrom(source: string, text: string, port = balancer.port): Promise<Socket> {
  const isIpv6 = source.includes(':');
  const socket = connect({ port, host: '127.0.0.1', ...(isIpv6 ? {} : { localAddress: source }) });
  open.add(socket);
  socket.once('close', () => open.delete(socket));
  socket.on('error', () => socket.destroy());
  await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
  socket.write((isIpv6 ? `PROXY TCP6 ${source} 2001:db8::1 4000 8080\r\n` : '') + text);
  return socket.resume();
}

/** The status of one call; 0 when it is closed unanswered. */
async function ask(source: string, port?: number): Promise<number> {
  const socket = await callFrom(source, `GET / HTTP/1.1\r\n${HEAD}Connection: close\r\n\r\n`, port);
  let answer = '';
  socket.on('data', (part: Buffer) => (answer += part.toString('latin1')));
  // A reset is a close, too.
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);
}

/** Most connections that the balancer has had at once. */
async function mostConnections(): Promise<number> {
  let most: string | undefined;
  const isTold = async (): Promise<boolean> => {
    most = /^haproxy_frontend_max_sessions\{proxy="public"\} (\d+)$/m.exec(await balancer.metrics())?.[1];
    return most !== undefined;
  };
  expect(await waitUntil(isTold, { timeoutMs: 30_000 })).toBe(true);
  return Number(most);
}

async function expectServed(source: string): Promise<void> {
  const statuses: number[] = [];
  for (let calls = 0; calls < 5; calls++) statuses.push(await ask(source));
  expect(statuses).toEqual([200, 200, 200, 200, 200]);
}

it.each(Object.entries(KINDS))(
  'leaves room for another caller while eleven addresses of as many networks %s on more connections than there are',
  async (_kind, text) => {
    await start(false);
    const sources = Array.from({ length: 11 }, (_, index) => `127.1.${index}.1`);
    for (let calls = 0; calls < 440; calls++) await callFrom(sources[calls % sources.length] ?? '', text);
    await expectServed('127.77.0.1');
    const most = await mostConnections();
    expect(most).toBeGreaterThan(ALL / 2);
    expect(most).toBeLessThan(ALL);
  },
);

it('gives one IPv6 line, which has many /64, no more than its share, and serves another', async () => {
  await start(true);
  for (let calls = 0; calls < 180; calls++) {
    await callFrom(`2001:db8:7:${(calls % 60).toString(16)}::1`, KINDS['send half a head']);
  }
  await expectServed('2001:db8:8::1');
  const most = await mostConnections();
  expect(most).toBeGreaterThan(50);
  expect(most).toBeLessThan(ALL / 2);
});

it('gives one IPv4 /24 no more than its share, says so, and serves another', async () => {
  await start(false);
  for (let calls = 0; calls < 51; calls++) await callFrom(`127.5.5.${1 + (calls % 25)}`, KINDS['wait for long calls']);
  // Its threads count what they have accepted a moment later.
  expect(await waitUntil(async () => (await ask('127.5.5.200')) === 429, { timeoutMs: 30_000 })).toBe(true);
  const isClosedUnanswered = async (): Promise<boolean> => {
    // They send nothing, so the balancer closes them after ten seconds; others take their places then.
    for (let calls = 0; calls < 100; calls++) await callFrom(`127.5.5.${1 + (calls % 25)}`, KINDS['send nothing']);
    return (await ask('127.5.5.201')) === 0;
  };
  expect(await waitUntil(isClosedUnanswered, { timeoutMs: 30_000 })).toBe(true);
  await expectServed('127.5.6.1');
  expect(await mostConnections()).toBeLessThan(ALL / 2);
});
