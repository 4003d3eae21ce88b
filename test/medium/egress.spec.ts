import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { loadConfig } from '#config/load-config.js';
import type { AppError } from '#contract/app-error.js';
import { EgressConfig } from '#egress/egress.config.js';
import { DOWNLOAD_LIMITS, PublicFetcher, type DownloadLimits } from '#egress/fetch-public-url.js';
import type { Network } from '#egress/checked-connect.js';
import { TEST_CERTIFICATE } from '../support/test-certificate.js';

// Real: HTTP and HTTPS servers on this machine. Ours for the test: the resolver, where a test says so.
const open = new Set<Server>();

async function serve(
  listener: RequestListener,
  tls = false,
): Promise<{ port: number; requests: IncomingMessage[]; connections: () => number }> {
  const requests: IncomingMessage[] = [];
  let connections = 0;
  const server = tls ? createTlsServer(TEST_CERTIFICATE) : createServer();
  server.on('connection', () => (connections += 1));
  server.on('request', (request, response) => {
    requests.push(request);
    listener(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.add(server);
  return { port: (server.address() as AddressInfo).port, requests, connections: () => connections };
}

function fetcher(
  ports: number[],
  env: Record<string, string> = {},
  network?: Network,
  limits: Partial<DownloadLimits> = {},
): PublicFetcher {
  const settings = { EGRESS_ALLOW_CIDRS: '127.0.0.0/8', EGRESS_PORTS: ports.join(','), ...env };
  return new PublicFetcher(loadConfig([EgressConfig] as const, settings)[0], network, {
    ...DOWNLOAD_LIMITS,
    ...limits,
  });
}

async function failure(work: Promise<unknown>): Promise<AppError> {
  return await work.then(
    () => Promise.reject(new Error('it worked')),
    (error: unknown) => error as AppError,
  );
}

const FAILED = { code: 'failed_to_download_image', message: 'The image could not be downloaded from its URL.' };

afterEach(async () => {
  for (const server of open) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  open.clear();
});

describe('PublicFetcher', () => {
  it('brings the bytes, asks plainly and sends nothing of ours', async () => {
    const bytes = Buffer.alloc(300_000, 7);
    const { port, requests } = await serve((_, response) => response.end(bytes));
    expect(bytes.equals(await fetcher([port]).get(`http://127.0.0.1:${port}/a.png`))).toBe(true);
    expect(Object.keys(requests[0]?.headers ?? {}).sort()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'host',
      'user-agent',
    ]);
    expect(requests[0]?.headers['accept-encoding']).toBe('identity');
  });

  it('leaves no connection open', async () => {
    const { port, requests } = await serve((_, response) => response.end('x'));
    await fetcher([port]).get(`http://127.0.0.1:${port}/`);
    const socket = requests[0]?.socket;
    if (socket?.destroyed === false) await once(socket, 'close');
    expect(socket?.destroyed).toBe(true);
  });

  it('opens no connection for any notation of an address that is not public', async () => {
    const { port, connections } = await serve((_, response) => response.end('secret'));
    const hosts = [
      ...[
        '127.0.0.1',
        '127.1',
        '2130706433',
        '0x7f.1',
        '0x7f000001',
        '017700000001',
        '0177.0.0.1',
        '127.0.0.1.',
        '0',
        '0.0.0.0',
      ],
      ...[
        '①②⑦.0.0.1',
        '127。0。0。1',
        '127.0.0.2',
        '[::1]',
        '[::]',
        '[::ffff:127.0.0.1]',
        '[::ffff:7f00:1]',
        '[::127.0.0.1]',
      ],
      ...[
        '[64:ff9b::7f00:1]',
        '[2002:7f00:1::]',
        '[::ffff:0:127.0.0.1]',
        '[0:0:0:0:0:0:0:1]',
        'localhost',
        'LOCALHOST',
        'a.localhost',
      ],
      ...[
        '10.0.0.1',
        '169.254.169.254',
        '192.168.0.1',
        '172.16.0.1',
        '100.64.0.1',
        '[fe80::1]',
        '[fd00::1]',
        'files.example@127.0.0.1',
      ],
    ];
    const strict = fetcher([port], { NODE_ENV: 'production', EGRESS_ALLOW_CIDRS: '' });
    const codes = await Promise.all(
      hosts.map(async (host) => (await failure(strict.get(`http://${host}:${port}/`))).code),
    );
    expect(hosts.length).toBeGreaterThanOrEqual(30);
    expect(codes).toEqual(hosts.map(() => 'invalid_image_url'));
    expect(connections()).toBe(0);
  });

  it('never reaches loopback in production, even when the settings allow it', async () => {
    const { port, connections } = await serve((_, response) => response.end('secret'));
    const strict = fetcher(
      [port],
      { NODE_ENV: 'production' },
      { resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]) },
    );
    expect((await failure(strict.get(`http://127.0.0.1:${port}/`))).code).toBe('invalid_image_url');
    expect(await failure(strict.get(`http://files.example:${port}/`))).toMatchObject(FAILED);
    expect(connections()).toBe(0);
  });

  it('checks what a name resolves to at every connection, so rebinding gains nothing', async () => {
    const inside = await serve((_, response) => response.end('secret'));
    const answers = ['127.0.0.1', '10.0.0.1', '127.0.0.1'];
    const resolve = () => Promise.resolve([{ address: answers.shift() ?? '10.0.0.1', family: 4 }]);
    const rebound = fetcher([inside.port], { NODE_ENV: 'test' }, { resolve });
    expect(String(await rebound.get(`http://files.example:${inside.port}/`))).toBe('secret');
    expect(await failure(rebound.get(`http://files.example:${inside.port}/`))).toMatchObject(FAILED);
    expect(inside.connections()).toBe(1);
  });

  it('connects to the permitted addresses of a name alone', async () => {
    const { port } = await serve((_, response) => response.end('fine'));
    const resolve = () =>
      Promise.resolve([
        { address: '10.0.0.1', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ]);
    expect(String(await fetcher([port], {}, { resolve }).get(`http://files.example:${port}/`))).toBe('fine');
  });

  it('says the same for a name that does not exist, a refused port, a status and a private address', async () => {
    const { port } = await serve((_, response) => response.writeHead(403).end('internal wording'));
    const closed = await serve(() => undefined);
    const server = [...open].at(-1);
    await new Promise((resolve) => server?.close(resolve));
    const network = {
      resolve: (name: string) =>
        name === 'private.example'
          ? Promise.resolve([{ address: '10.9.9.9', family: 4 }])
          : Promise.reject(new Error('no such name')),
    };
    const ours = fetcher([port, closed.port], {}, network);
    const hosts = [
      `nowhere.invalid:${port}`,
      `127.0.0.1:${closed.port}`,
      `127.0.0.1:${port}`,
      `private.example:${port}`,
    ];
    for (const host of hosts) {
      const error = await failure(ours.get(`http://${host}/`));
      expect({ code: error.code, message: error.message }).toEqual(FAILED);
    }
  });

  it('follows three redirects, checks each and refuses a fourth', async () => {
    const { port } = await serve((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left > 0) response.writeHead(302, { location: `/${left - 1}`, 'set-cookie': 'a=b' }).end('moved');
      else response.end(request.headers.cookie ?? 'no cookie');
    });
    expect(String(await fetcher([port]).get(`http://127.0.0.1:${port}/3`))).toBe('no cookie');
    expect(await failure(fetcher([port]).get(`http://127.0.0.1:${port}/4`))).toMatchObject(FAILED);
  });

  it.each([
    'http://10.0.0.1/',
    'http://user:pass@127.0.0.1/',
    'file:///etc/passwd',
    'http://[::1]/',
    'http://127.0.0.1:9/',
    'ht tp:',
  ])('refuses a redirect to %s in the general words', async (location) => {
    const { port } = await serve((_, response) => response.writeHead(307, { location }).end());
    expect(await failure(fetcher([port]).get(`http://127.0.0.1:${port}/`))).toMatchObject(FAILED);
  });

  it('speaks https, trusts no stranger and never steps down to http', async () => {
    const plain = await serve((_, response) => response.end('plain'));
    const secure = await serve((request, response) => {
      if (request.url === '/down') response.writeHead(302, { location: `http://127.0.0.1:${plain.port}/` }).end();
      else response.end('secure');
    }, true);
    const network = {
      resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
      ca: TEST_CERTIFICATE.cert,
    };
    const ports = [plain.port, secure.port];
    expect(String(await fetcher(ports, {}, network).get(`https://files.example:${secure.port}/`))).toBe('secure');
    expect(await failure(fetcher(ports, {}, network).get(`https://files.example:${secure.port}/down`))).toMatchObject(
      FAILED,
    );
    expect(await failure(fetcher(ports, {}, network).get(`https://other.example:${secure.port}/`))).toMatchObject(
      FAILED,
    );
    expect(await failure(fetcher(ports).get(`https://127.0.0.1:${secure.port}/`))).toMatchObject(FAILED);
    expect(plain.connections()).toBe(0);
  });

  it.each([
    [
      'announced',
      (size: number): RequestListener =>
        (_, response) =>
          response.writeHead(200, { 'content-length': size }).end(Buffer.alloc(size)),
    ],
    [
      'unannounced',
      (size: number): RequestListener =>
        (_, response) =>
          void (response.write(Buffer.alloc(size - 1)), response.end('x')),
    ],
  ])('takes an %s body of exactly the limit and not a byte more', async (_, listener) => {
    const exact = await serve(listener(2_048));
    const over = await serve(listener(2_049));
    const ours = fetcher([exact.port, over.port]);
    expect(await ours.get(`http://127.0.0.1:${exact.port}/`, { maxBytes: 2_048 })).toHaveLength(2_048);
    expect(await failure(ours.get(`http://127.0.0.1:${over.port}/`, { maxBytes: 2_048 }))).toMatchObject(FAILED);
  });

  it('gives up on a body without end after the limit', async () => {
    let sent = 0;
    const { port } = await serve((_, response) => {
      const pump = (): void => {
        if (response.destroyed) return;
        do sent += 65_536;
        while (response.write(Buffer.alloc(65_536)));
        response.once('drain', pump);
      };
      pump();
    });
    const limited = fetcher([port], {}, undefined, { maxBytes: 1_000_000 });
    const error = await failure(limited.get(`http://127.0.0.1:${port}/`));
    expect(error).toMatchObject({ ...FAILED, cause: { message: 'the body is too long' } });
    expect(sent).toBeGreaterThanOrEqual(1_000_000);
    expect(sent).toBeLessThan(20_000_000);
  });

  it('unpacks nothing: an encoded answer is refused', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    const { port } = await serve((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb));
    expect(await failure(fetcher([port]).get(`http://127.0.0.1:${port}/`))).toMatchObject(FAILED);
  });

  it.each([
    ['never answers', 'no answer in time', 200, 3_000, (): RequestListener => () => undefined],
    [
      'drips its body',
      'the body comes too slowly',
      30_000,
      200,
      (): RequestListener => (_, response) => drip(response),
    ],
  ])('gives up on a server that %s', async (_, reason, connectMs, rateWindowMs, listener) => {
    const { port } = await serve(listener());
    // The other limit would come first where the machine stalls.
    const ours = fetcher([port], { EGRESS_CONNECT_TIMEOUT_MS: String(connectMs) }, undefined, { rateWindowMs });
    const error = await failure(ours.get(`http://127.0.0.1:${port}/`));
    expect(error).toMatchObject({ ...FAILED, cause: { message: reason } });
  });

  it('ends a download that takes too long in all, however steady', async () => {
    const { port } = await serve((_, response) => drip(response));
    const ours = fetcher([port], {}, undefined, { totalTimeoutMs: 300, minRate: 0 });
    const error = await failure(ours.get(`http://127.0.0.1:${port}/`));
    expect(error).toMatchObject({ ...FAILED, cause: { name: 'TimeoutError' } });
  });

  it.each([
    ['with a length', { 'content-length': '1000' }],
    ['in chunks', {}],
  ])('takes a body cut off for a failure, %s', async (_, headers) => {
    const { port } = await serve((request, response) => {
      response.writeHead(200, headers).write('half an image', () => request.socket.destroy());
    });
    expect(await failure(fetcher([port]).get(`http://127.0.0.1:${port}/`))).toMatchObject(FAILED);
  });

  it('throws the reason of the signal when the caller gives up', async () => {
    const reason = new Error('the task was cancelled');
    const giveUp = new AbortController();
    const { port } = await serve(() => giveUp.abort(reason));
    await expect(fetcher([port]).get(`http://127.0.0.1:${port}/`, { signal: giveUp.signal })).rejects.toBe(reason);
  });
});

function drip(response: NodeJS.WritableStream): void {
  const timer = setInterval(() => response.write('.'), 20);
  response.on('close', () => clearInterval(timer));
}
