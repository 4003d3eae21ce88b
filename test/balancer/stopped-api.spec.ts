import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { waitUntil } from '#embedded/wait-until.js';
import { startBalancer, type TestBalancer } from '../support/balancer.js';
import { event, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.js';
import { newMarker, order } from '../support/fault-callers.js';
import { freePort } from '../support/free-port.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { startNameServer, type NameServer } from '../support/name-server.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';

const [OLD, NEW] = ['127.0.4.1', '127.0.4.2'] as const;
/**
 * How much shorter all times are than in docker-compose.yml, but for the delay, in which HAProxy looks twice. A slow machine
 * needs more of them for what comes before.
 */
const SHORTER = Math.max(1, 2.5 / Math.max(1, patient(1) / 3));
/** How long calls are in hand after the door has closed, in the times of docker-compose.yml. */
const HELD_MS = 30_000;

interface Answer {
  readonly status: number;
  readonly text: string;
}

// Real: HAProxy with the file we ship, two APIs with the times of docker-compose.yml in proportion, a worker.
describe('an API that stops', () => {
  let folder: string;
  let images: LedgerProvider;
  let chats: ChatUpstream;
  let platform: Platform;
  let next: TestProcess;
  let names: NameServer;
  let balancer: TestBalancer;
  let delayMs: number;

  beforeAll(async () => {
    [images, chats] = [await LedgerProvider.start(), await startChatUpstream()];
    folder = await mkdtemp(join(tmpdir(), 'darkroom-stopped-'));
    await writeFile(
      join(folder, 'models.yaml'),
      `providers:
  images: { type: openai, base_url: "${images.url}", keys: [{ env: UP_KEY }] }
  chats: { type: openai, base_url: "${chats.url}", keys: [{ env: UP_KEY }] }
models:
  gpt-image-2: { kind: image, routes: [{ provider: images }] }
  talk: { kind: chat, routes: [{ provider: chats }] }
`,
    );
    const shipped = await shippedTimes();
    delayMs = shipped.SHUTDOWN_DELAY_MS;
    const port = await freePort();
    platform = await startPlatform({
      HOST: OLD,
      PORT: String(port),
      MODELS_FILE: join(folder, 'models.yaml'),
      UP_KEY: 'sk-ledger-secret-key',
      SHUTDOWN_DELAY_MS: String(delayMs),
      SHUTDOWN_GRACE_MS: String(Math.round(shipped.SHUTDOWN_GRACE_MS / SHORTER)),
      SYNC_WAIT_MS: String(Math.round(shipped.SYNC_WAIT_MS / SHORTER)),
    });
    next = await startApi({ ...platform.settings, HOST: NEW });
    names = await startNameServer([OLD]);
    balancer = await startBalancer({ apis: { nameServer: names.port, port } });
  });
  afterAll(async () => {
    await balancer.stop();
    names.stop();
    await next.stop();
    await platform.close();
    await Promise.all([images.close(), chats.close()]);
    await rm(folder, { recursive: true });
  });

  /** What docker-compose.yml gives its APIs, in ms, unless an operator says otherwise. */
  async function shippedTimes() {
    const { services } = parse(await readFile('docker-compose.yml', 'utf8'), { merge: true }) as {
      services: { api: { environment: Record<string, string> } };
    };
    const of = (name: string): number => Number(/(\d+)\}?$/.exec(services.api.environment[name] ?? '')?.[1]);
    return {
      SHUTDOWN_DELAY_MS: of('SHUTDOWN_DELAY_MS'),
      SHUTDOWN_GRACE_MS: of('SHUTDOWN_GRACE_MS'),
      SYNC_WAIT_MS: of('SYNC_WAIT_MS'),
    };
  }

  const isServedBy = (count: number): Promise<boolean> =>
    waitUntil(async () => (await balancer.readyApis()) === count, { timeoutMs: 30_000 });

  /** One call, never tried again; status 0 when its answer is cut off. */
  async function ask(path: string, body?: object): Promise<Answer> {
    try {
      const response = await fetch(balancer.url + path, {
        headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'application/json' },
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(patient(60_000)),
      });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      return { status: 0, text: String(error) };
    }
  }

  /** Which servers the balancer sent the calls of this path to, once all are logged. */
  async function serversOf(path: string, calls: number): Promise<Set<unknown>> {
    const logged = async () => (await balancer.requests()).filter((line) => line['path'] === path);
    expect(await waitUntil(async () => (await logged()).length === calls, { timeoutMs: 30_000 })).toBe(true);
    return new Set((await logged()).map(({ server }) => server));
  }

  it('O12: a held image and a streamed chat get whole answers, and new calls go elsewhere; nobody tries again', async () => {
    const marker = newMarker();
    const delta = (content: string): string => event({ choices: [{ index: 0, delta: { content } }] });
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    images.plan(marker, { until: released });
    chats.answer = async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(delta('begun'));
      await released;
      response.end(delta('ended') + event('[DONE]'));
    };
    const image = ask('/v1/images/generations', order(marker));
    const messages = [{ role: 'user', content: 'hello' }];
    const chat = ask('/v1/chat/completions', { model: 'talk', stream: true, messages });
    const inHand = (): boolean => images.startsOf(marker).length === 1 && chats.received.length === 1;
    expect(await waitUntil(inHand, { timeoutMs: 30_000 })).toBe(true);
    names.addresses = [OLD, NEW];
    expect(await isServedBy(2)).toBe(true);

    const until = performance.now() + delayMs + HELD_MS / SHORTER;
    platform.api.kill('SIGTERM');
    expect(await isServedBy(1)).toBe(true);
    const later: Answer[] = [];
    const isOver = async (): Promise<boolean> => {
      later.push(await ask('/v1/tasks'));
      return performance.now() > until;
    };
    expect(await waitUntil(isOver, { timeoutMs: 60_000 })).toBe(true);
    release();

    const held = await image;
    const streamed = await chat;
    expect(held).toEqual({ status: 200, text: expect.stringContaining('"url":"http') as unknown });
    const whole: unknown = expect.stringMatching(/begun.*ended.*data: \[DONE\]\n\n$/s);
    expect(streamed).toEqual({ status: 200, text: whole });
    expect(later.filter(({ status }) => status !== 200)).toEqual([]);
    expect(await platform.api.exited).toMatchObject({ code: 0, signal: null });
    const [stopped] = await serversOf('/v1/images/generations', 1);
    expect([...(await serversOf('/v1/chat/completions', 1))]).toEqual([stopped]);
    const others = await serversOf('/v1/tasks', later.length);
    expect([others.size, others.has(stopped)]).toEqual([1, false]);
  });
});
