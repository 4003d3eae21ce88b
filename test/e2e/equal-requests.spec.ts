import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import OpenAI from 'openai';
import { waitUntil } from '#embedded/wait-until.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import { FaultProxy, type Fault } from '../support/fault-proxy.js';
import { newMarker } from '../support/fault-callers.js';
import { LedgerProvider, type Plan } from '../support/ledger-provider.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';

const TRIES = 6;

/**
 * Clients that try again without saying so: the AI SDK, LangChain's outer retry, OpenAI's SDKs before they counted. One
 * image is made for what a caller left, and every other request has one of its own.
 */
describe('a client that tries again without counting', () => {
  let provider: LedgerProvider;
  let platform: Platform;
  let hasty: TestProcess;
  let png: Buffer;
  const proxies: FaultProxy[] = [];

  beforeAll(async () => {
    provider = await LedgerProvider.start();
    platform = await startPlatform({
      OPENAI_API_KEY: 'sk-ledger-secret-key',
      OPENAI_BASE_URL: provider.url,
    });
    // Its window is shorter than the images that are asked for there take.
    hasty = await startApi({ ...platform.settings, SYNC_WAIT_MS: '1500' });
    png = await gradientImage(128, 128, 'png');
  });
  afterAll(async () => {
    await Promise.all(proxies.map((proxy) => proxy.close()));
    await hasty.stop();
    await platform.close();
    await provider.close();
  });

  async function doorWith(fates: readonly Fault[]): Promise<FaultProxy> {
    const proxy = await FaultProxy.start(platform.url, fates);
    proxies.push(proxy);
    return proxy;
  }

  function planned(plan: Plan): string {
    const marker = newMarker();
    provider.plan(marker, plan);
    return marker;
  }

  /** An image that its provider keeps back until it is told to finish. */
  function heldBack(): { marker: string; finish: () => void } {
    let finish = (): void => undefined;
    const until = new Promise<void>((resolve) => (finish = resolve));
    return { marker: planned({ until }), finish };
  }

  const rowsOf = async (marker: string) =>
    (
      await platform.pool.query<{ id: string; status: string; abandoned: boolean }>(
        `SELECT id, status, abandoned_at IS NOT NULL AS abandoned FROM tasks WHERE prompt LIKE '%' || $1 || '%' ORDER BY created_at`,
        [marker],
      )
    ).rows;

  /** How many APIs are there for their callers, as Redis knows. */
  async function presentApis(): Promise<number> {
    const redis = new Redis(platform.settings['REDIS_URL'] ?? '');
    try {
      return (await redis.pubsub('CHANNELS', `${platform.settings['REDIS_PREFIX']}:api:*`)).length;
    } finally {
      redis.disconnect();
    }
  }

  const wish = (marker: string): object => ({
    model: 'gpt-image-2',
    prompt: `a house ${marker}`,
    size: '1:1',
    resolution: '1k',
    response_format: 'url',
  });

  interface Try {
    readonly status: number;
    readonly taskId: string | null;
    readonly hasImage: boolean;
    readonly code: string | undefined;
  }

  /** One try; status 0 = the connection broke. */
  async function once(
    url: string,
    marker: string,
    way: 'generation' | 'edit' = 'generation',
    connection = 'keep-alive',
  ): Promise<Try> {
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...wish(marker), size: '1024x1024' })) form.set(name, String(value));
    form.set('image', new Blob([new Uint8Array(png)], { type: 'image/png' }), `${Math.random()}.png`);
    const headers = { authorization: `Bearer ${platform.key}`, connection };
    try {
      const response = await (way === 'edit'
        ? fetch(`${url}/v1/images/edits`, { method: 'POST', headers, body: form })
        : fetch(`${url}/v1/images/generations`, {
            method: 'POST',
            headers: { ...headers, 'content-type': 'application/json' },
            body: JSON.stringify(wish(marker)),
          }));
      const body = (await response.json()) as { data?: { url?: string }[]; error?: { code?: string } };
      const hasImage = body.data?.[0]?.url !== undefined;
      return { status: response.status, taskId: response.headers.get('x-task-id'), hasImage, code: body.error?.code };
    } catch {
      return { status: 0, taskId: null, hasImage: false, code: undefined };
    }
  }

  interface Patience {
    readonly most?: number;
    /** Called when a window has ended without an image. */
    readonly onTimeout?: () => void;
  }

  /** Tries until there is an image, as clients do: after every 5xx and every broken connection, a little later. */
  async function tryOn(
    url: string,
    marker: string,
    way?: 'generation' | 'edit',
    { most = 20, onTimeout }: Patience = {},
  ): Promise<Try[]> {
    const tries: Try[] = [];
    await waitUntil(
      async () => {
        tries.push(await once(url, marker, way));
        if (tries.at(-1)?.status === 504) onTimeout?.();
        return tries.at(-1)?.hasImage === true || tries.length === most;
      },
      { timeoutMs: 60_000, everyMs: 300 },
    );
    return tries;
  }

  describe.each(['generation', 'edit'] as const)('with a %s', (way) => {
    it('gets its image through windows that are shorter than the work, and it is bought once', async () => {
      const { marker, finish } = heldBack();
      const tries = await tryOn(hasty.url, marker, way, { onTimeout: finish });
      expect(tries.at(-1)).toMatchObject({ status: 200, hasImage: true });
      expect(tries.filter(({ status }) => status === 504).length).toBeGreaterThan(0);
      expect(new Set(tries.map(({ taskId }) => taskId)).size).toBe(1);
      expect(provider.startsOf(marker)).toHaveLength(1);
    });

    it('gets its image although its connection was cut, and it is bought once', async () => {
      const { marker, finish } = heldBack();
      const door = await doorWith(['pass']);
      const first = once(door.url, marker, way);
      expect(await waitUntil(() => provider.startsOf(marker).length > 0, { timeoutMs: 20_000 })).toBe(true);
      door.cut();
      expect(await first).toMatchObject({ status: 0 });
      expect(await waitUntil(async () => (await rowsOf(marker))[0]?.abandoned === true, { timeoutMs: 30_000 })).toBe(
        true,
      );
      finish();
      expect((await tryOn(platform.url, marker, way)).at(-1)).toMatchObject({ status: 200, hasImage: true });
      expect(provider.startsOf(marker)).toHaveLength(1);
      expect(await rowsOf(marker)).toMatchObject([{ status: 'completed', abandoned: false }]);
    });
  });

  it.each(['keep-alive', 'close'])('gets its image although the answer was lost on the way: %s', async (connection) => {
    let marker = '';
    // A cut that a busy machine makes later than a second after the answer counts as one of a caller that has it.
    const isLost = async (): Promise<boolean> => {
      marker = planned({});
      const door = await doorWith([{ cutAfter: 0 }]);
      expect(await once(door.url, marker, 'generation', connection)).toMatchObject({ status: 0 });
      return await waitUntil(async () => (await rowsOf(marker))[0]?.abandoned === true, { timeoutMs: 8_000 });
    };
    expect(await waitUntil(isLost, { timeoutMs: 60_000 })).toBe(true);
    expect((await tryOn(platform.url, marker)).at(-1)).toMatchObject({ status: 200, hasImage: true });
    expect(provider.startsOf(marker)).toHaveLength(1);
  });

  it.each(['is made', 'was made meanwhile'])(
    'gets its image although the API that it waited at was killed: the image %s',
    async (when) => {
      const { marker, finish } = heldBack();
      const doomed = await startApi({ ...platform.settings, SYNC_WAIT_MS: '60000' });
      expect(await waitUntil(async () => (await presentApis()) === 3, { timeoutMs: 20_000 })).toBe(true);
      const first = once(doomed.url, marker);
      expect(await waitUntil(() => provider.startsOf(marker).length > 0, { timeoutMs: 20_000 })).toBe(true);
      doomed.kill('SIGKILL');
      expect(await first).toMatchObject({ status: 0 });
      // Redis may hear of two connections at once, and of this end after the question.
      expect(await waitUntil(async () => (await presentApis()) === 2, { timeoutMs: 20_000 })).toBe(true);
      const isFinished = async () => (await rowsOf(marker)).every((row) => row.status === 'completed' && row.abandoned);
      if (when === 'was made meanwhile') {
        finish();
        expect(await waitUntil(isFinished, { timeoutMs: 20_000 })).toBe(true);
      }
      if (when === 'is made') {
        expect(await once(hasty.url, marker)).toMatchObject({ status: 504 });
        finish();
      }
      expect((await tryOn(hasty.url, marker)).at(-1)).toMatchObject({ status: 200, hasImage: true });
      expect(provider.startsOf(marker)).toHaveLength(1);
    },
  );

  it('gets its image although it could not be read at first, and it is bought once', async () => {
    const marker = planned({});
    const folder = await mkdtemp(join(tmpdir(), 'darkroom-empty-store-'));
    const blind = await startApi({ ...platform.settings, DATA_DIR: folder });
    const asked = { ...wish(marker), response_format: 'b64_json' };
    const call = async (url: string) =>
      await fetch(`${url}/v1/images/generations`, {
        method: 'POST',
        headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'application/json' },
        body: JSON.stringify(asked),
      });
    const lost = await call(blind.url);
    await blind.stop();
    await rm(folder, { recursive: true });
    expect([lost.status, await lost.json()]).toMatchObject([500, { error: { code: 'storage_error' } }]);
    const found = await call(platform.url);
    expect([found.status, found.headers.get('x-task-id')]).toEqual([200, lost.headers.get('x-task-id')]);
    expect(provider.startsOf(marker)).toHaveLength(1);
  });

  it('is told of a failure that may have been charged again, and nothing is bought for it', async () => {
    const marker = planned({ faults: ['html-502'] });
    const tries = await tryOn(platform.url, marker, 'generation', { most: TRIES });
    expect(tries).toHaveLength(TRIES);
    expect(new Set(tries.map(({ status, taskId, code }) => `${status} ${code} ${taskId}`))).toEqual(
      new Set([`502 upstream_error ${tries[0]?.taskId}`]),
    );
    expect(provider.startsOf(marker)).toHaveLength(1);
  });

  it('gets another task after a failure that cost nothing', async () => {
    const marker = planned({ faults: ['moderation'] });
    const refused = await once(platform.url, marker);
    expect(refused).toMatchObject({ status: 400, code: 'moderation_blocked' });
    expect(await once(platform.url, marker)).toMatchObject({ status: 200, hasImage: true });
    expect(await rowsOf(marker)).toHaveLength(2);
  });

  it('gets as many images as it sends requests while each of them waits, at whatever API', async () => {
    const other = await startApi(platform.settings);
    const urls = [platform.url, other.url, platform.url, other.url];
    // A process that is asked and silent for two seconds, as a busy one may be, counts as gone: then one task is shared.
    const haveTheirOwn = async (): Promise<boolean> => {
      const { marker, finish } = heldBack();
      const calls = urls.map((url) => once(url, marker));
      const isEachMade = await waitUntil(() => provider.startsOf(marker).length === 4, { timeoutMs: 5_000 });
      finish();
      const answers = await Promise.all(calls);
      expect(answers.map(({ hasImage }) => hasImage)).toEqual([true, true, true, true]);
      const starts = provider.startsOf(marker).length;
      expect(new Set(answers.map(({ taskId }) => taskId)).size).toBe(starts);
      return isEachMade;
    };
    expect(await waitUntil(haveTheirOwn, { timeoutMs: 30_000 })).toBe(true);
    await other.stop();
  });

  it('gets another image after one that was delivered', async () => {
    const marker = planned({});
    const first = await once(platform.url, marker);
    const second = await once(platform.url, marker);
    expect([first.hasImage, second.hasImage]).toEqual([true, true]);
    expect(second.taskId).not.toBe(first.taskId);
  });

  it('gets its image when its framework tries again around an SDK that counts', async () => {
    const { marker, finish } = heldBack();
    const openai = new OpenAI({ apiKey: platform.key, baseURL: `${hasty.url}/v1`, maxRetries: 0 });
    const answered = async (): Promise<boolean> =>
      openai.images
        .generate(wish(marker) as OpenAI.ImageGenerateParamsNonStreaming)
        .then(({ data }) => data?.[0]?.url !== undefined)
        .catch((error: unknown) => {
          if ((error as { status?: number }).status === 504) finish();
          return false;
        });
    expect(await waitUntil(answered, { timeoutMs: 30_000, everyMs: 300 })).toBe(true);
    expect(provider.startsOf(marker)).toHaveLength(1);
  });
});
