import OpenAI from 'openai';
import { waitUntil } from '#embedded/wait-until.js';
import { startBalancer, type TestBalancer } from '../support/balancer.js';
import { newMarker, order } from '../support/fault-callers.js';
import { counted } from '../support/figures.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';

const CALLERS = 50;

// Real: HAProxy with the file we ship, two APIs, a worker, OpenAI's SDK with nothing but its defaults.
describe('behind the balancer', () => {
  let provider: LedgerProvider;
  let platform: Platform;
  let doomed: TestProcess;
  let balancer: TestBalancer;

  beforeAll(async () => {
    provider = await LedgerProvider.start();
    platform = await startPlatform({
      WORKER_CONCURRENCY: String(CALLERS),
      OPENAI_API_KEY: 'sk-ledger-secret-key',
      OPENAI_BASE_URL: provider.url,
    });
    doomed = await startApi(platform.settings);
    balancer = await startBalancer({ apis: [platform.url, doomed.url] });
  });
  afterAll(async () => {
    await balancer.stop();
    await doomed.stop();
    await platform.close();
    await provider.close();
  });

  it('O8: every SDK whose API is killed gets its image, and none is bought twice', async () => {
    const openai = new OpenAI({ apiKey: platform.key, baseURL: `${balancer.url}/v1` });
    const markers = Array.from({ length: CALLERS }, newMarker);
    let release = (): void => undefined;
    const killed = new Promise<void>((resolve) => (release = resolve));
    for (const marker of markers) provider.plan(marker, { until: killed });
    const calls = markers.map(async (marker) => {
      const wish = order(`a house ${marker}`) as OpenAI.ImageGenerateParamsNonStreaming;
      return (await openai.images.generate(wish)).data?.[0]?.url;
    });
    const allStarted = (): boolean => markers.every((marker) => provider.startsOf(marker).length > 0);
    expect(await waitUntil(allStarted, { timeoutMs: 60_000 })).toBe(true);
    doomed.kill('SIGKILL');
    await doomed.exited;
    release();
    for (const url of await Promise.all(calls)) expect(url).toMatch(/^http/);
    const { rows } = await platform.pool.query<{ status: string; starts: number }>(
      'SELECT status, provider_starts AS starts FROM tasks',
    );
    expect(rows).toEqual(markers.map(() => ({ status: 'completed', starts: 1 })));
    expect(markers.map((marker) => provider.startsOf(marker).length)).toEqual(markers.map(() => 1));
    counted('API killed with 50 SDK callers', 'calls, failed, lost, bought twice', `${CALLERS}, 0, 0, 0`);
  });
});
