import { waitUntil } from '#embedded/wait-until.js';
import { newMarker, order } from '../support/fault-callers.js';
import { counted } from '../support/figures.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startWorker, type TestProcess } from '../support/processes.js';

const CONCURRENCY = 24;

// Real: an API, workers that come and go, and a provider that counts what it starts. No caller tries again.
describe('workers that come and go', () => {
  let provider: LedgerProvider;
  let platform: Platform;
  let workers: TestProcess[];

  beforeAll(async () => {
    provider = await LedgerProvider.start();
    platform = await startPlatform({
      ...{ OPENAI_API_KEY: 'sk-ledger-secret-key', OPENAI_BASE_URL: provider.url },
      ...{ WORKER_CONCURRENCY: String(CONCURRENCY), SHUTDOWN_GRACE_MS: '60000' },
    });
    workers = [platform.worker];
  }, 120_000);
  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await platform.close();
    await provider.close();
  }, 120_000);

  /** One order, which its provider works on for so long; answers with the status. */
  async function call(markers: string[], latencyMs: number): Promise<number> {
    const marker = newMarker();
    markers.push(marker);
    provider.plan(marker, { latencyMs });
    const response = await platform.call('/v1/images/generations', { body: order(marker) });
    await response.arrayBuffer();
    return response.status;
  }

  /** What became of these orders; the drill's line of docs/failure.md. */
  async function judge(drill: string, markers: readonly string[], statuses: readonly number[]): Promise<void> {
    const { rows } = await platform.pool.query<{ status: string }>(
      `SELECT status FROM tasks WHERE EXISTS (SELECT 1 FROM unnest($1::text[]) AS marker WHERE strpos(prompt, marker) > 0)`,
      [markers],
    );
    const failed = statuses.filter((status) => status !== 200).length;
    const lost = markers.length - rows.filter(({ status }) => status === 'completed').length;
    const twice = markers.filter((marker) => provider.startsOf(marker).length > 1).length;
    counted(drill, 'calls, failed, lost, bought twice', [markers.length, failed, lost, twice].join(', '));
    expect([failed, lost, twice]).toEqual([0, 0, 0]);
  }

  it('O11: a worker that is replaced finishes the calls that may be paid', async () => {
    const markers: string[] = [];
    const calls = Array.from({ length: CONCURRENCY }, () => call(markers, 5_000));
    const areStarted = (): boolean => markers.every((marker) => provider.startsOf(marker).length > 0);
    expect(await waitUntil(areStarted, { timeoutMs: 30_000 })).toBe(true);
    const [old] = workers;
    workers = [await startWorker(platform.settings)];
    expect(await old?.stop()).toMatchObject({ code: 0 });
    await judge('Worker replaced during 24 paid calls', markers, await Promise.all(calls));
  }, 120_000);

  it('one becomes eight and one again under load', async () => {
    const [markers, statuses]: [string[], number[]] = [[], []];
    let going = true;
    const callers = Array.from({ length: 8 }, async () => {
      while (going) statuses.push(await call(markers, 300));
    });
    const [kept, ...added] = [
      ...workers,
      ...(await Promise.all(Array.from({ length: 7 }, () => startWorker(platform.settings)))),
    ];
    workers = [kept!, ...added];
    const before = statuses.length;
    expect(await waitUntil(() => statuses.length >= before + 30, { timeoutMs: 60_000 })).toBe(true);
    for (const exit of await Promise.all(added.map((worker) => worker.stop()))) expect(exit).toMatchObject({ code: 0 });
    const after = statuses.length;
    expect(await waitUntil(() => statuses.length >= after + 10, { timeoutMs: 60_000 })).toBe(true);
    going = false;
    await Promise.all(callers);
    await judge('Workers 1, 8, 1', markers, statuses);
  }, 180_000);
});
