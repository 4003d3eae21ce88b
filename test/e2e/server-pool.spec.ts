import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin } from '../support/console.js';
import { freePort } from '../support/free-port.js';
import { plainImage } from '../support/image-provider-suite.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startWorker } from '../support/processes.js';
import {
  apiError,
  image,
  json,
  startUpstream,
  type Script,
  type ScriptedUpstream,
} from '../support/scripted-upstream.js';

const WAIT = { timeoutMs: 90_000 };
const REGIONS = ['sweden', 'france', 'east', 'west'];
/** What each region allows within a minute, or longer than this test takes. */
const PER_MINUTE = 12;

interface Step {
  readonly event: string;
  readonly provider?: string;
  readonly server?: string;
  readonly region?: string;
  readonly outcome?: string;
}

interface TaskData {
  readonly status: string;
  readonly phase: string;
  readonly timeline?: readonly Step[];
}

/** Images by providers that have several equal servers, with real processes and servers. */
describe('a provider with several servers', () => {
  let platform: Platform;
  let folder: string;
  let png: Buffer;
  let regions: ScriptedUpstream[];
  let jobs: ScriptedUpstream[];
  let deadPort: number;

  beforeAll(async () => {
    png = await plainImage(64, 64);
    regions = await Promise.all(REGIONS.map(() => startUpstream()));
    jobs = [await startUpstream(), await startUpstream()];
    deadPort = await freePort();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-pool-'));
    const listed = regions.map(({ url }, at) => {
      const limits = `limits: { starts_per_minute: ${PER_MINUTE} }`;
      return `      - { name: ${REGIONS[at]}, base_url: "${url}", keys: [{ env: KEY }], region: ${at < 2 ? 'eu' : 'us'}, ${limits} }`;
    });
    const [alive] = regions;
    await writeFile(
      join(folder, 'models.yaml'),
      `providers:
  azure:
    type: openai
    servers:
${listed.join('\n')}
  half:
    type: openai
    servers:
      - { name: dead, base_url: "http://127.0.0.1:${deadPort}/v1" }
      - { name: alive, base_url: "${alive?.url}" }
  jobs:
    type: apimart
    servers:
${jobs.map(({ url }, at) => `      - { name: j${at}, base_url: "${url}", keys: [{ env: KEY }] }`).join('\n')}
models:
  gpt-image-2: { kind: image, routes: [{ provider: azure }] }
  spare: { kind: image, routes: [{ provider: half }] }
  slow: { kind: image, routes: [{ provider: jobs, model: gpt-image-2 }] }
`,
    );
    platform = await startPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      SWEEP_INTERVAL_MS: '500',
      PROVIDER_FAILURES: '3',
      // All calls that the servers allow at a time.
      WORKER_CONCURRENCY: '60',
      KEY: 'sk-pool-4d1f09b7',
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      EGRESS_PORTS: [80, ...jobs.map(({ url }) => new URL(url).port)].join(),
    });
  });
  afterAll(async () => {
    await platform.close();
    await Promise.all([...regions, ...jobs].map((upstream) => upstream.close()));
    await rm(folder, { recursive: true, force: true });
  });

  async function read(id: string): Promise<TaskData> {
    return ((await (await platform.call(`/v1/tasks/${id}?include=timeline`)).json()) as { data: TaskData }).data;
  }
  async function submit(prompt: string, model = 'gpt-image-2'): Promise<string> {
    const body = { model, prompt, size: '1:1', resolution: '1k' };
    const response = await platform.call('/v1/images/generations/async', { body });
    return ((await response.json()) as { task_id: string }).task_id;
  }
  const callsOf = ({ timeline = [] }: TaskData): readonly Step[] =>
    timeline.filter(({ event }) => event === 'provider_call');

  /** Answers 429 to more calls than the region allows; the others wait for `until`. */
  function limited(until: Promise<void>): { readonly script: Script; served(): number; refused(): number } {
    let [served, refused] = [0, 0];
    const draw = image(png);
    const refuse = apiError(429, { code: 'rate_limit_exceeded' }, { 'retry-after': '60' });
    return {
      script: async (call, response) => {
        const isOver = ++served > PER_MINUTE;
        refused += isOver ? 1 : 0;
        if (!isOver) await until;
        await (isOver ? refuse : draw)(call, response);
      },
      served: () => served,
      refused: () => refused,
    };
  }

  it('makes as many images a minute as its servers together allow, without a single refusal', async () => {
    let draw = (): void => undefined;
    const until = new Promise<void>((resolve) => (draw = resolve));
    const scripts = regions.map(() => limited(until));
    for (const [at, region] of regions.entries()) region.script(scripts[at]!.script);
    const ids = await Promise.all(Array.from({ length: 52 }, (_, n) => submit(`a pear on shelf ${n}`)));
    const areCalled = (): boolean => scripts.every(({ served }) => served() >= PER_MINUTE);
    expect(await waitUntil(areCalled, WAIT)).toBe(true);
    // Those without a call; they would get one in the next minute, which may come before a busy machine has drawn all.
    const shelves = regions.flatMap(({ calls }) => calls.map(({ body }) => /shelf (\d+)/.exec(String(body))?.[1]));
    const waiting = ids.filter((_id, n) => !shelves.includes(String(n)));
    expect(waiting).toHaveLength(ids.length - 4 * PER_MINUTE);
    await Promise.all(waiting.map((id) => platform.call(`/v1/tasks/${id}/cancel`, { method: 'POST' })));
    draw();
    const completed = async (): Promise<TaskData[]> =>
      (await Promise.all(ids.map(read))).filter(({ status }) => status === 'completed');
    expect(await waitUntil(async () => (await completed()).length >= 4 * PER_MINUTE, WAIT)).toBe(true);
    const tasks = await completed();
    for (const name of REGIONS) {
      const here = tasks.filter((task) => callsOf(task).at(-1)?.server === name);
      expect(here).toHaveLength(PER_MINUTE);
      expect(callsOf(here[0]!)).toMatchObject([{ provider: 'azure', server: name, outcome: 'succeeded' }]);
    }
    expect(scripts.map(({ refused }) => refused())).toEqual([0, 0, 0, 0]);
    expect(callsOf(tasks.find((task) => callsOf(task)[0]?.server === 'sweden')!)[0]?.region).toBe('eu');
  });

  it('makes an image in the region that the request or its key is pinned to, or refuses it by name', async () => {
    for (const region of regions) region.script(image(png));
    const { REDIS_URL = '', REDIS_PREFIX = '' } = platform.settings;
    const redis = new Redis(REDIS_URL);
    // The minute of the test before this one is over.
    await redis.del(...REGIONS.map((name) => `${REDIS_PREFIX}:gate:azure/${name}:starts`));
    redis.disconnect();
    const body = { model: 'gpt-image-2', prompt: 'a pear in its region', size: '1:1', resolution: '1k' };
    const path = '/v1/images/generations';
    const placeOf = async (response: Response): Promise<string | undefined> => {
      await response.arrayBuffer();
      const { timeline = [] } = await read(response.headers.get('x-task-id') ?? '');
      return timeline.find(({ event }) => event === 'provider_call')?.region;
    };
    const pinned = (region: string, key?: string) =>
      platform.call(path, { body, headers: { 'x-darkroom-region': region }, ...(key !== undefined && { key }) });
    expect(await placeOf(await pinned('us'))).toBe('us');
    expect(await placeOf(await pinned('eu'))).toBe('eu');
    const key = await platform.newKey({ region: 'us' });
    expect((await platform.call('/v1/images/generations/async', { body, key })).status).toBe(202);
    const { rows } = await platform.pool.query(
      "SELECT options->>'region' AS region FROM tasks ORDER BY id DESC LIMIT 1",
    );
    expect(rows).toEqual([{ region: 'us' }]);
    for (const [region, whose, message] of [
      ['asia', undefined, 'gpt-image-2 is not served in the region asia: its regions are eu, us.'],
      ['eu', key, 'This API key is pinned to the region us.'],
      ['EU!', undefined, /^x-darkroom-region must be up to 32/],
    ] as const) {
      const refused = await pinned(region, whose);
      expect(refused.status).toBe(400);
      expect(await refused.json()).toMatchObject({
        error: {
          code: 'invalid_value',
          param: 'x-darkroom-region',
          message: typeof message === 'string' ? message : expect.stringMatching(message),
        },
      });
    }
  });

  it('goes on at the next server at once when one is dead, until that one is left out', async () => {
    regions[0]?.script(image(png));
    const seen: string[][] = [];
    const one = async (): Promise<void> => {
      const body = { model: 'spare', prompt: `a lamp ${seen.length}`, size: '1:1', resolution: '1k' };
      const response = await platform.call('/v1/images/generations', { body });
      await response.arrayBuffer();
      expect(response.status).toBe(200);
      seen.push(callsOf(await read(response.headers.get('x-task-id') ?? '')).map(({ server = '' }) => server));
    };
    const { REDIS_URL = '', REDIS_PREFIX = '' } = platform.settings;
    const redis = new Redis(REDIS_URL);
    const isOpen = async (): Promise<boolean> => {
      await one();
      return (await redis.hget(`${REDIS_PREFIX}:gate:half/dead:breaker`, 'trips')) !== null;
    };
    expect(await waitUntil(isOpen, WAIT)).toBe(true);
    await redis.hset(`${REDIS_PREFIX}:gate:half/dead:breaker`, 'until', Date.now() + 600_000);
    redis.disconnect();
    const before = seen.length;
    for (let n = 0; n < 4; n++) await one();
    expect(seen.slice(before)).toEqual([['alive'], ['alive'], ['alive'], ['alive']]);
    expect(seen.slice(0, before)).toContainEqual(['dead', 'alive']);
    expect(seen.every((calls) => calls.at(-1) === 'alive')).toBe(true);
  });

  it('is shown as unavailable once the only server that works is drained', async () => {
    const ada = await signInFirstAdmin(platform);
    const breakerOfHalf = async () =>
      (await ada.ask<{ data: { name: string; breaker: string }[] }>('/providers')).data.find(
        ({ name }) => name === 'half',
      )?.breaker;
    expect(await breakerOfHalf()).toBe('closed');
    const change = async (path: string) =>
      (await ada.call(`/providers/${encodeURIComponent('half/alive')}/${path}`, { body: { reason: 'a test' } })).status;
    expect(await change('drain')).toBeLessThan(300);
    expect(await breakerOfHalf()).toBe('open');
    await ada.call(`/providers/${encodeURIComponent('half/alive')}/resume`, { method: 'POST' });
    expect(await breakerOfHalf()).toBe('closed');
  });

  it('asks the server that works on a job for it, also after a restart', async () => {
    let isDone = false;
    const accepted = json({ code: 200, data: [{ status: 'submitted', task_id: 'job-7' }] });
    const drawn = (url: string) =>
      json({
        code: 200,
        data: { id: 'job-7', status: 'completed', progress: 100, result: { images: [{ url: [`${url}/image.png`] }] } },
      });
    const running = json({ code: 200, data: { id: 'job-7', status: 'processing', progress: 40 } });
    for (const upstream of jobs) {
      upstream.script((call, response) => {
        if (call.method === 'POST') return accepted(call, response);
        if (call.path.endsWith('.png')) return void response.writeHead(200, { 'content-type': 'image/png' }).end(png);
        return (isDone ? drawn(upstream.url) : running)(call, response);
      });
    }
    const id = await submit('a slow pear', 'slow');
    const worker = platform.worker;
    const isParked = (): boolean => worker.logs().some(({ event, taskId }) => event === 'task.parked' && taskId === id);
    expect(await waitUntil(isParked, WAIT)).toBe(true);
    const holder = jobs.find(({ calls }) => calls.length > 0)!;
    const other = jobs.find((upstream) => upstream !== holder)!;
    worker.kill('SIGKILL');
    await worker.exited;
    const polls = holder.calls.length;
    isDone = true;
    const next = await startWorker(platform.settings);
    expect(await waitUntil(async () => (await read(id)).status === 'completed', WAIT)).toBe(true);
    expect(holder.calls.length).toBeGreaterThan(polls);
    expect(other.calls).toEqual([]);
    expect(callsOf(await read(id))).toMatchObject([
      { provider: 'jobs', server: `j${jobs.indexOf(holder)}`, outcome: 'succeeded' },
    ]);
    await next.stop();
  });
});
