import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadConfig } from '#config/load-config.js';
import { EgressConfig } from '#egress/egress.config.js';
import { PublicFetcher } from '#egress/fetch-public-url.js';
import { PublicPoster } from '#egress/post-public-url.js';
import { resolveHost } from '#egress/resolve-host.js';
import { waitUntil } from '#embedded/wait-until.js';
import { startNameServer, type NameServer } from '../support/name-server.js';

const FAILED = { code: 'failed_to_download_image', message: 'The image could not be downloaded from its URL.' };
const NAMES = Array.from({ length: 20 }, (_, n) => `a${n}.slow.example`);

// Real: name servers and an HTTP server on this machine.
describe('names that users give', () => {
  let names: NameServer;
  let port: number;
  let connections = 0;
  const server = createServer((_, response) => response.end('bytes')).on('connection', () => (connections += 1));
  const network = {
    resolve: (name: string, signal: AbortSignal) => resolveHost(name, signal, [`127.0.0.1:${names.port}`]),
  };

  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    connections = 0;
    names = await startNameServer(['127.0.0.1']);
  });
  afterEach(() => names.stop());

  function config(env: Record<string, string> = {}): EgressConfig {
    const settings = { EGRESS_ALLOW_CIDRS: '127.0.0.0/8', EGRESS_PORTS: `${port}`, ...env };
    return loadConfig([EgressConfig], settings)[0];
  }
  const fetcher = (env?: Record<string, string>): PublicFetcher => new PublicFetcher(config(env), network);
  const failure = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );

  it('block no other name of the process if their server never answers, and end with their caller', async () => {
    names.silent = true;
    const giveUp = new AbortController();
    const reason = new Error('the task was canceled');
    let ended = 0;
    const fetches = NAMES.map(async (name) => {
      const error = await failure(fetcher().get(`http://${name}:${port}/`, { signal: giveUp.signal }));
      ended += 1;
      return error;
    });
    expect(await waitUntil(() => names.asked.size === NAMES.length, { timeoutMs: 30_000 })).toBe(true);
    expect(await lookup('localhost')).toMatchObject({ address: expect.any(String) });
    expect(ended).toBe(0);
    giveUp.abort(reason);
    expect(await Promise.all(fetches)).toEqual(NAMES.map(() => reason));
  });

  it('end within the time limits if their server never answers', async () => {
    names.silent = true;
    const limited = fetcher({ EGRESS_CONNECT_TIMEOUT_MS: '1000' });
    for (const error of await Promise.all(NAMES.map((name) => failure(limited.get(`http://${name}:${port}/`)))))
      expect(error).toMatchObject({ ...FAILED, cause: { message: 'no answer in time' } });
    const message = { headers: {}, body: '{}', timeoutMs: 1_000, signal: new AbortController().signal };
    const posted = await new PublicPoster(config(), network).post(`https://hook.slow.example:${port}/`, message);
    expect(posted).toMatchObject({ failure: 'timeout' });
    expect(names.asked.size).toBeGreaterThan(0);
  });

  it('may lead messages to this machine over plain http, if it is allowed at all', async () => {
    const message = {
      headers: {},
      body: '{}',
      timeoutMs: 5_000,
      signal: new AbortController().signal,
      plainLoopback: true,
    };
    const post = (env?: Record<string, string>) =>
      new PublicPoster(config(env)).post(`http://127.0.0.1:${port}/`, message);
    expect(await post()).toEqual({ status: 200, text: 'bytes' });
    expect(connections).toBe(1);
    expect(await post({ EGRESS_ALLOW_CIDRS: '' })).toMatchObject({ failure: 'unreachable' });
    expect(await post({ NODE_ENV: 'production' })).toMatchObject({ failure: 'unreachable' });
    const strict = await new PublicPoster(config()).post(`http://127.0.0.1:${port}/`, {
      ...message,
      plainLoopback: false,
    });
    expect(strict).toMatchObject({ failure: 'unreachable' });
    const byName = await new PublicPoster(config(), network).post(`http://hook.slow.example:${port}/`, message);
    expect(byName).toMatchObject({ failure: 'unreachable' });
    expect(connections).toBe(1);
  });

  it('are no longer asked for after an abort', async () => {
    names.silent = true;
    const giveUp = new AbortController();
    const resolving = failure(network.resolve('a.slow.example', giveUp.signal));
    expect(await waitUntil(() => names.asked.size === 1, { timeoutMs: 30_000 })).toBe(true);
    giveUp.abort(new Error('enough'));
    expect(await resolving).toEqual(new Error('enough'));
    expect(await failure(network.resolve('localhost', giveUp.signal))).toEqual(new Error('enough'));
  });

  it('have their IPv4 addresses soon if their servers never answer for IPv6', async () => {
    const second = await startNameServer(['127.0.0.1']);
    names.silentForIpv6 = second.silentForIpv6 = true;
    const servers = [names, second].map((one) => `127.0.0.1:${one.port}`);
    const found = await resolveHost('files.example', new AbortController().signal, servers);
    second.stop();
    expect(found).toEqual([{ address: '127.0.0.1', family: 4 }]);
    // Two at each server would take longer than a connection may.
    expect(names.askedForIpv6 + second.askedForIpv6).toBeLessThan(4);
  }, 30_000);

  it('lead to permitted addresses alone, checked at every connection', async () => {
    names.addresses = ['10.0.0.1', '127.0.0.1'];
    expect(String(await fetcher().get(`http://files.example:${port}/`))).toBe('bytes');
    names.addresses = ['10.0.0.1', '169.254.169.254'];
    expect(await failure(fetcher().get(`http://files.example:${port}/`))).toMatchObject({
      ...FAILED,
      cause: { name: 'AddressRefused' },
    });
    names.addresses = ['127.0.0.1'];
    const strict = fetcher({ NODE_ENV: 'production' });
    expect(await failure(strict.get(`http://files.example:${port}/`))).toMatchObject({
      ...FAILED,
      cause: { name: 'AddressRefused' },
    });
    names.addresses = [];
    expect(await failure(fetcher().get(`http://files.example:${port}/`))).toMatchObject({
      ...FAILED,
      cause: { code: 'ENOTFOUND' },
    });
    expect(connections).toBe(1);
  });

  it('come from the hosts file and from no name server if only this network can define them', async () => {
    const found = await network.resolve('localhost', new AbortController().signal);
    expect(found).toContainEqual({ address: '127.0.0.1', family: 4 });
    await failure(network.resolve('nowhere.internal', new AbortController().signal));
    expect(names.asked.size).toBe(0);
    await network.resolve('internal.example', new AbortController().signal);
    expect(names.asked).toEqual(new Set(['internal.example']));
  });
});
