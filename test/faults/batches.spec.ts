import { endedBatch, lineOf, readBatch, resultsIn, startBatch } from '../support/batches.js';
import { newMarker } from '../support/fault-callers.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { patientSetting } from '../support/patience.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startApi, startWorker, type TestProcess } from '../support/processes.js';
import { waitUntil } from '#embedded/wait-until.js';

const LINES = 300;
const SLOTS = 8;
/** What the provider has been asked for when processes are killed, as a share of the lines. */
const KILLS = [0.1, 0.25, 0.4, 0.55, 0.7];

/** The provider charges for its images, so a call whose end nobody has seen is not repeated. */
describe('a batch whose processes are killed', () => {
  let provider: LedgerProvider;
  let platform: ApiPlatform;
  const others: TestProcess[] = [];
  beforeAll(async () => {
    provider = await LedgerProvider.start();
    platform = await startApiPlatform({
      OPENAI_API_KEY: 'sk-ledger-secret-key',
      OPENAI_BASE_URL: provider.url,
      WORKER_CONCURRENCY: String(SLOTS),
      // Longer than a living worker may be kept from its renewal, which would end what it has in hand.
      LEASE_MS: patientSetting(1_400, 20_000),
      SWEEP_INTERVAL_MS: '500',
    });
  });
  afterAll(async () => {
    await Promise.all(others.map((one) => one.stop()));
    await platform.close();
    await provider.close();
  });

  async function started<T extends TestProcess>(starting: Promise<T>): Promise<T> {
    const one = await starting;
    others.push(one);
    return one;
  }

  it('has each line bought once at most, and in its results once', async () => {
    const markers = Array.from({ length: LINES }, newMarker);
    for (const marker of markers) provider.plan(marker, { latencyMs: 30 });
    const body = { model: 'gpt-image-2', size: 'auto' };
    let worker = await started(startWorker(platform.settings));
    let runner = await started(startApi(platform.settings));
    const lines = markers.map((marker, at) => lineOf(`line-${at}`, { ...body, prompt: `a pear ${marker}` }));
    // It is created at the process that is killed, and goes on at the others.
    const at = { call: (path: string, options = {}) => platform.call(path, { at: { url: runner.url }, ...options }) };
    const { id } = await startBatch({ ...platform, ...at }, lines);
    for (const share of KILLS) {
      expect(await waitUntil(() => provider.ledger.length >= LINES * share, { timeoutMs: 60_000 })).toBe(true);
      worker.kill('SIGKILL');
      runner.kill('SIGKILL');
      await Promise.all([worker.exited, runner.exited]);
      [worker, runner] = await Promise.all([
        started(startWorker(platform.settings)),
        started(startApi(platform.settings)),
      ]);
    }
    const batch = await endedBatch(platform, id, { timeoutMs: 120_000 });
    expect(batch).toMatchObject({ status: 'completed', request_counts: { total: LINES } });
    const output = await resultsIn(platform, batch.output_file_id);
    const errors = await resultsIn(platform, batch.error_file_id);
    expect([output.length, errors.length]).toEqual([batch.request_counts.completed, batch.request_counts.failed]);
    const ids = [...output, ...errors].map(({ custom_id: customId }) => customId);
    expect(ids.sort()).toEqual(markers.map((_marker, line) => `line-${line}`).sort());
    // A killed worker may have counted a call that it had not made yet.
    expect(markers.filter((marker) => provider.startsOf(marker).length > 1)).toEqual([]);
    const bought = output.map(({ custom_id: customId }) => markers[Number(customId.slice('line-'.length))] ?? '');
    expect(bought.filter((marker) => provider.startsOf(marker).length !== 1)).toEqual([]);
    const codes = errors.map(({ response }) => (response?.body as { error: { code: string } }).error.code);
    // Only what the killed workers had in hand.
    expect(codes.filter((code) => code !== 'interrupted')).toEqual([]);
    expect(codes.length).toBeLessThanOrEqual(KILLS.length * SLOTS);
    const { rows } = await platform.pool.query('SELECT count(*)::int AS tasks FROM tasks WHERE batch_id = $1', [id]);
    expect(rows).toEqual([{ tasks: LINES }]);
    expect(await readBatch(platform, id)).toEqual(batch);
  });
});
