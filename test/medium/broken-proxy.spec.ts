import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { loadConfig } from '#config/load-config.js';
import { EgressConfig } from '#egress/egress.config.js';
import { PublicFetcher } from '#egress/fetch-public-url.js';
import { PublicPoster } from '#egress/post-public-url.js';
import { Upstream } from '#providers/http/upstream.js';

const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n';
const SECONDS = 30_000;

// Real: a proxy on this machine that accepts every connection and breaks it.
describe.each<[string, (socket: Socket) => void]>([
  ['closes on CONNECT', (socket) => socket.end()],
  ['resets on CONNECT', (socket) => socket.resetAndDestroy()],
  ['opens the tunnel and closes it', (socket) => socket.end(ESTABLISHED)],
  ['opens the tunnel and resets it', (socket) => socket.write(ESTABLISHED, () => socket.resetAndDestroy())],
  ['sends something else through the tunnel', (socket) => socket.write(`${ESTABLISHED}neither TLS nor HTTP\r\n\r\n`)],
])('a proxy that %s', (_, breaks) => {
  let connects = 0;
  let proxy: string;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    connects += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => breaks(socket));
  });

  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    proxy = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => (connects = 0));
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  const failure = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );

  it.each(['http', 'https'])('fails a download from %s once', async (scheme) => {
    const [config] = loadConfig([EgressConfig], { EGRESS_PROXY: proxy });
    const error = await failure(new PublicFetcher(config).get(`${scheme}://images.example/a.png`));
    expect(error).toMatchObject({ code: 'failed_to_download_image' });
    expect(error).not.toMatchObject({ cause: { message: 'no answer in time' } });
    expect(connects).toBe(1);
  });

  it('fails a webhook once', async () => {
    const [config] = loadConfig([EgressConfig], { EGRESS_PROXY: proxy });
    const message = { headers: {}, body: '{}', timeoutMs: SECONDS, signal: new AbortController().signal };
    const result = await new PublicPoster(config).post('https://hooks.example/', message);
    expect(result).toMatchObject({ failure: expect.stringMatching(/^(tls|unreachable)$/) });
    expect(connects).toBe(1);
  });

  it.each(['http', 'https'])('fails a call of a provider by %s once', async (scheme) => {
    const upstream = new Upstream({
      baseUrl: `${scheme}://provider.example/v1`,
      proxy: { providerProxy: proxy, providerNoProxy: [] },
      connectTimeoutMs: SECONDS,
      firstByteTimeoutMs: SECONDS,
      idleTimeoutMs: SECONDS,
      totalTimeoutMs: SECONDS,
    });
    const call = { path: '/models', accept: 'application/json', signal: new AbortController().signal, maxBytes: 100 };
    const error = await failure(upstream.call(call, (answer) => Promise.resolve(answer.status)));
    expect(error).toMatchObject({ code: 'upstream_error', message: 'The provider could not be reached.' });
    expect(connects).toBe(1);
  });
});
