import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadConfig } from '#config/load-config.js';
import { EgressConfig } from '#egress/egress.config.js';
import type { Network } from '#egress/checked-connect.js';
import { PublicFetcher } from '#egress/fetch-public-url.js';
import { PublicPoster } from '#egress/post-public-url.js';
import { startConnectProxy, type ConnectProxy } from '../support/connect-proxy.js';
import { TEST_CERTIFICATE } from '../support/test-certificate.js';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.js';

const network: Network = {
  resolve: () => Promise.reject(new Error('only the proxy resolves names')),
  ca: TEST_CERTIFICATE.cert,
};

// Real: a proxy, and servers on this machine that only it can find by their names.
describe('EGRESS_PROXY', () => {
  let proxy: ConnectProxy;
  let receiver: WebhookReceiver;
  let config: EgressConfig;
  let port: number;
  const server = createServer((request, response) => {
    if (request.url === '/moved') response.writeHead(302, { location: 'http://169.254.169.254/pear.png' }).end();
    else response.end('bytes');
  });

  beforeAll(async () => {
    [proxy, receiver] = await Promise.all([startConnectProxy(), startWebhookReceiver()]);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
    const ports = `80,443,${port},${receiver.port}`;
    [config] = loadConfig([EgressConfig], { EGRESS_PROXY: proxy.url, EGRESS_PORTS: ports });
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await Promise.all([proxy.close(), receiver.close()]);
  });

  const failure = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );

  it('brings images and delivers webhooks by the proxy, which resolves their names', async () => {
    const bytes = await new PublicFetcher(config, network).get(`http://images.example:${port}/pear.png`);
    expect(bytes.toString()).toBe('bytes');
    const message = { headers: {}, body: '{}', timeoutMs: 30_000, signal: new AbortController().signal };
    const url = `https://files.example:${receiver.port}/hook`;
    expect(await new PublicPoster(config, network).post(url, message)).toEqual({ status: 200 });
    expect(receiver.at('/hook')).toHaveLength(1);
    expect(proxy.tunnels).toEqual([`images.example:${port}`, `files.example:${receiver.port}`]);
  });

  it('still refuses what the text of an address shows, after a redirect too', async () => {
    const fetcher = new PublicFetcher(config, network);
    const before = proxy.tunnels.length;
    for (const host of ['127.0.0.1', '[::1]', 'localhost', '10.0.0.1', '169.254.169.254'])
      expect(await failure(fetcher.get(`http://${host}:${port}/`))).toMatchObject({ code: 'invalid_image_url' });
    expect(proxy.tunnels).toHaveLength(before);
    const moved = await failure(fetcher.get(`http://images.example:${port}/moved`));
    expect(moved).toMatchObject({ code: 'failed_to_download_image' });
    expect(proxy.tunnels).toHaveLength(before + 1);
  });

  it('has its refusals told like any other failure of the network', async () => {
    await proxy.refuse(403);
    const fetched = await failure(new PublicFetcher(config, network).get(`http://images.example:${port}/`));
    expect(fetched).toMatchObject({ code: 'failed_to_download_image' });
    await proxy.refuse(undefined);
  });
});
