import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import { waitUntil } from '#embedded/wait-until.js';
import { startBalancer, type TestBalancer } from '../support/balancer.js';
import { freePort } from '../support/free-port.js';
import { startNameServer, type NameServer } from '../support/name-server.js';

const COUNT = 14;

// Real: HAProxy with the file we ship, which finds its instances by name. They only say who they are.
describe('more than ten instances', () => {
  let port: number;
  let names: NameServer;
  let balancer: TestBalancer;
  const unready = new Set<string>();
  const apis = new Map<string, Server>();
  const url = (path = '/'): string => balancer.url + path;

  beforeAll(async () => {
    port = await freePort();
    const addresses = Array.from({ length: COUNT }, (_, index) => `127.0.1.${index + 1}`);
    for (const address of addresses) apis.set(address, await startStandIn(address));
    names = await startNameServer(addresses);
    balancer = await startBalancer({
      apis: { nameServer: names.port, port },
      env: { BALANCER_ADDRESS: '[::]', SOURCE_REQUESTS: '100000' },
      serves: async (at) => (await fetch(`http://127.0.0.1:${at}/`)).ok,
    });
  });
  afterAll(async () => {
    await balancer.stop();
    names.stop();
    for (const api of apis.values()) api.close();
  });

  async function startStandIn(address: string): Promise<Server> {
    const server = createServer((request, response) => {
      if (request.url === '/cut') {
        request.socket.destroy();
        return;
      }
      const ready = request.url !== '/failed' && (request.url !== '/readyz' || !unready.has(address));
      response.writeHead(ready ? 200 : 503, { 'x-request-id': `req "of" ${address}`, connection: 'close' });
      response.end(address);
    });
    server.listen(port, address);
    await once(server, 'listening');
    return server;
  }

  /** Who answers so many calls. */
  async function served(calls: number): Promise<Set<string>> {
    const found = new Set<string>();
    for (let call = 0; call < calls; call++) found.add(await (await fetch(url())).text());
    return found;
  }

  const isServedBy = async (addresses: readonly string[]): Promise<boolean> => {
    const found = await served(2 * addresses.length);
    return found.size === addresses.length && addresses.every((address) => found.has(address));
  };

  it('Also: finds all of them, one more, and leaves out one that stops, without a failed call', async () => {
    expect(await waitUntil(() => isServedBy(names.addresses), { timeoutMs: 15_000 })).toBe(true);
    let going = true;
    const failed: number[] = [];
    const traffic = waitUntil(
      async () => {
        const { status } = await fetch(url('/work'));
        if (status !== 200) failed.push(status);
        return !going;
      },
      { timeoutMs: 60_000, everyMs: 5 },
    );
    const [first = '', ...others] = names.addresses;
    const added = '127.0.1.100';
    apis.set(added, await startStandIn(added));
    names.addresses = [...names.addresses, added];
    expect(await waitUntil(() => isServedBy(names.addresses), { timeoutMs: 15_000 })).toBe(true);
    unready.add(first);
    const isLeftOut = async (): Promise<boolean> => (await balancer.readyApis()) === names.addresses.length - 1;
    expect(await waitUntil(isLeftOut, { timeoutMs: 30_000 })).toBe(true);
    // On a busy machine another one may miss its check for a moment: who serves is asked again until all others do.
    expect(await waitUntil(() => isServedBy([...others, added]), { timeoutMs: 30_000 })).toBe(true);
    apis.get(first)?.close();
    names.addresses = [...others, added];
    expect(await waitUntil(() => isServedBy([...others, added]), { timeoutMs: 30_000 })).toBe(true);
    going = false;
    await traffic;
    expect(failed).toEqual([]);
  });

  it('Also: callers may come by IPv6', async () => {
    expect((await fetch(`http://[::1]:${balancer.port}/`)).status).toBe(200);
  });

  it('On call: logs each request without the signature of a link or the key of a caller', async () => {
    const headers = { authorization: 'Bearer sk-canary-key' };
    await (await fetch(url('/i/"image\\.png?exp=1&sig=canary-signature'), { headers })).text();
    const ours = async () => (await balancer.requests()).filter(({ path }) => String(path).startsWith('/i/'));
    expect(await waitUntil(async () => (await ours()).length === 1, { timeoutMs: 30_000 })).toBe(true);
    const [line] = await ours();
    expect(line).toMatchObject({ event: 'balancer.request', method: 'GET', path: '/i/%22image/.png', status: 200 });
    expect(line?.['requestId']).toMatch(/^req "of" 127/);
    expect(JSON.stringify(await balancer.requests())).not.toContain('canary');
  });

  it('On call: counts requests and ready instances for Prometheus', async () => {
    const answered = /^haproxy_frontend_http_responses_total\{proxy="public",code="2xx"\} [1-9]/m;
    expect(await balancer.metrics()).toMatch(answered);
    expect(await waitUntil(async () => (await balancer.readyApis()) === COUNT, { timeoutMs: 15_000 })).toBe(true);
  });

  it('On call: serves what alerts and dashboards ask of it', async () => {
    const files = ['alerts/darkroom.rules.yml', 'grafana/on-call.json', 'grafana/service.json'];
    const texts = await Promise.all(files.map(async (file) => await readFile(`deploy/${file}`, 'utf8')));
    const asked =
      texts
        .join('\n')
        .replaceAll('\\"', '"')
        .match(/\bhaproxy_\w+\{[^}]*\}/g) ?? [];
    expect(asked.length).toBeGreaterThan(3);
    const served = (await balancer.metrics()).split('\n');
    const isServed = (selector: string): boolean => {
      const labels = selector.match(/\w+="[^"]*"/g) ?? [];
      return served.some(
        (line) => line.startsWith(selector.replace(/\{.*/, '{')) && labels.every((label) => line.includes(label)),
      );
    };
    expect(asked.filter((selector) => !isServed(selector))).toEqual([]);
  });

  it('On call: what it answers itself are the answers that no instance has given', async () => {
    const count = async (metric: string): Promise<number> =>
      (await balancer.metrics())
        .split('\n')
        .filter((line) => line.startsWith(`haproxy_${metric}_http_responses_total`) && line.includes('code="5xx"'))
        .reduce((sum, line) => sum + Number(line.split(' ')[1]), 0);
    const all = await count('frontend');
    const given = await count('server');
    const statuses: (number | undefined)[] = [];
    for (const path of ['/failed', '/cut', '/failed']) {
      // HAProxy answers 502 to the first request of a connection; at a later one it closes, which clients repeat themselves.
      const [answer] = (await once(get(url(path), { agent: false }), 'response')) as [IncomingMessage];
      statuses.push(answer.resume().statusCode);
    }
    expect(statuses).toEqual([503, 502, 503]);
    expect(await waitUntil(async () => (await count('frontend')) === all + 3, { timeoutMs: 15_000 })).toBe(true);
    expect(await count('server')).toBe(given + 2);
  });

  it('O9: without any instance, answers with an error of the API that tells SDKs to try again', async () => {
    for (const api of apis.values()) api.close();
    const refused = async (): Promise<Response> => await fetch(url('/v1/images/generations'), { method: 'POST' });
    const expectRefusal = async (answer: Response): Promise<void> => {
      expect(answer.status).toBe(503);
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(answer.headers.get('x-should-retry')).toBe('true');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      const message: unknown = expect.stringMatching(/^No instance can take the request\. Try again/);
      const error = { type: 'overloaded_error', code: 'server_is_overloaded', message, param: null };
      expect(await answer.json()).toEqual({ type: 'error', error });
    };
    // Before the balancer has noticed, and afterwards.
    await expectRefusal(await refused());
    expect(await waitUntil(async () => (await balancer.readyApis()) === 0, { timeoutMs: 15_000 })).toBe(true);
    await expectRefusal(await refused());
  });
});
