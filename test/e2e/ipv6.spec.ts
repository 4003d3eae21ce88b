import { once } from 'node:events';
import { createServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { loadConfig } from '#config/load-config.js';
import { EgressConfig } from '#egress/egress.config.js';
import { PublicPoster } from '#egress/post-public-url.js';
import { signInFirstAdmin } from '../support/console.js';
import { freePort } from '../support/free-port.js';
import { OwnRedis, REDIS_PASSWORD } from '../support/own-redis.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { TEST_CERTIFICATE } from '../support/test-certificate.js';

const GENERATIONS = '/v1/images/generations';

describe('a machine whose processes have IPv6 addresses alone', () => {
  let redis: OwnRedis;
  let platform: Platform;
  let port: string;

  beforeAll(async () => {
    redis = await OwnRedis.open();
    const server = await redis.start('six', ['bind 127.0.0.1 ::1']);
    port = String(await freePort());
    platform = await startPlatform({
      HOST: '::1',
      PORT: port,
      PUBLIC_URL: `http://[::1]:${port}`,
      WORKER_HEALTH_HOST: '::1',
      REDIS_URL: `redis://:${REDIS_PASSWORD}@[::1]:${server.port}/0`,
      TRUSTED_PROXIES: '::1,fd00:1::/64',
      EGRESS_ALLOW_CIDRS: 'fd00:2::/64',
    });
  });
  afterAll(async () => {
    await platform.close();
    await redis.close();
  });

  it('serves image, link and console there, and nowhere else', async () => {
    expect(platform.url).toBe(`http://[::1]:${port}`);
    const body = { model: 'gpt-image-2', resolution: '1k', prompt: 'a pier', response_format: 'url' };
    const response = await platform.call(GENERATIONS, { body });
    expect(response.status).toBe(200);
    const [image] = ((await response.json()) as { data: { url: string }[] }).data;
    expect(image?.url).toMatch(new RegExp(`^http://\\[::1\\]:${port}/i/`));
    const bytes = await fetch(image?.url ?? '');
    expect([bytes.status, bytes.headers.get('content-type')]).toEqual([200, 'image/png']);
    await bytes.body?.cancel();
    const ada = await signInFirstAdmin(platform);
    expect((await ada.call('/session')).status).toBe(200);
    for (const taken of [port, new URL(platform.worker.url).port]) {
      const socket = connect({ host: '127.0.0.1', port: Number(taken) });
      const [error] = (await once(socket, 'error')) as [{ code: string }];
      expect(error.code).toBe('ECONNREFUSED');
    }
  });

  it.each(['[::1]', '[fd00:1::1]', '[fe80::1]', '[::ffff:10.0.0.1]', '[64:ff9b::a00:1]', '[::]'])(
    'refuses webhooks to %s',
    async (host) => {
      const body = { model: 'gpt-image-2', prompt: 'a pier', resolution: '1k', callback_url: `https://${host}/hook` };
      const response = await platform.call(`${GENERATIONS}/async`, { body });
      const { error } = (await response.json()) as { error: { param: string } };
      expect([response.status, error.param]).toEqual([400, 'callback_url']);
    },
  );

  it('accepts webhooks to public IPv6 addresses and to networks that are allowed', async () => {
    for (const host of ['[2606:4700::1111]', '[fd00:2::5]']) {
      const body = { model: 'gpt-image-2', prompt: host, resolution: '1k', callback_url: `https://${host}/hook` };
      const response = await platform.call(`${GENERATIONS}/async`, { body });
      await response.text();
      expect(response.status).toBe(202);
    }
  });

  it('delivers to a receiver whose name has an IPv6 address alone, if that may be reached', async () => {
    const receiver = createServer(TEST_CERTIFICATE, (_request, response) => response.end());
    receiver.listen(0, '::1');
    await once(receiver, 'listening');
    const { port: at } = receiver.address() as AddressInfo;
    const network = { resolve: () => Promise.resolve([{ address: '::1', family: 6 }]), ca: TEST_CERTIFICATE.cert };
    const post = (allowed: string) => {
      const [config] = loadConfig([EgressConfig], { EGRESS_ALLOW_CIDRS: allowed, EGRESS_PORTS: String(at) });
      const message = { headers: {}, body: '{}', timeoutMs: patient(20_000), signal: new AbortController().signal };
      return new PublicPoster(config, network).post(`https://files.example:${at}/`, message);
    };
    expect(await post('::1/128')).toEqual({ status: 200 });
    expect(await post('fd00::/8')).toMatchObject({ failure: 'unreachable' });
    receiver.closeAllConnections();
    receiver.close();
  });
});
