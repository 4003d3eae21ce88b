import { waitUntil } from '#embedded/wait-until.js';
import { callersOf, newMarker } from '../support/fault-callers.js';
import { FaultRoom } from '../support/fault-room.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { measured } from '../support/figures.js';
import { patientSetting } from '../support/patience.js';

/** Callers that leave, come back, or wait for workers that do not exist. */
describe('callers', () => {
  let provider: LedgerProvider;
  let room: FaultRoom;
  let callers: ReturnType<typeof callersOf>;

  beforeAll(async () => {
    provider = await LedgerProvider.start();
    room = await FaultRoom.open({
      settings: {
        OPENAI_API_KEY: 'sk-ledger-secret-key',
        SWEEP_INTERVAL_MS: '500',
        // Of fifty calls that want one row, the last on a busy machine wait longer for it than by default.
        DATABASE_CONNECT_TIMEOUT_MS: patientSetting(10_000, 30_000),
        DATABASE_QUERY_TIMEOUT_MS: patientSetting(10_000, 30_000),
        REDIS_COMMAND_TIMEOUT_MS: patientSetting(10_000, 60_000),
      },
      links: { provider: { setting: 'OPENAI_BASE_URL', url: provider.url } },
    });
    callers = callersOf(room);
  });
  afterAll(async () => {
    await room.close();
    await provider.close();
  });

  it('who leave hold nothing up: the image is made once, and their places are free', async () => {
    const marker = newMarker();
    let finish = (): void => undefined;
    provider.plan(marker, { until: new Promise<void>((resolve) => (finish = resolve)) });
    const leaving = new AbortController();
    const calls = Array.from({ length: 20 }, () =>
      callers.generate(marker, { headers: { 'idempotency-key': marker }, signal: leaving.signal }),
    );
    expect(await waitUntil(() => provider.startsOf(marker).length === 1, { timeoutMs: 20_000 })).toBe(true);
    leaving.abort();
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => 0));
    expect(await waitUntil(() => room.api.door?.open === 0, { timeoutMs: 20_000 })).toBe(true);
    finish();
    const [row] = await callers.rowsOf(marker);
    expect(await callers.ended([row?.id ?? ''])).toEqual(['completed']);
    expect(await callers.rowsOf(marker)).toHaveLength(1);
    expect(provider.startsOf(marker)).toHaveLength(1);
  });

  it('of fifty parallel repeats with one key have one task, bought once', async () => {
    const marker = newMarker();
    provider.plan(marker, { latencyMs: 500 });
    const repeat = () => callers.generate(marker, { headers: { 'idempotency-key': marker } });
    const outcomes = await Promise.all(Array.from({ length: 50 }, repeat));
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(outcomes.map(({ taskId }) => taskId)).size).toBe(1);
    expect(provider.startsOf(marker)).toHaveLength(1);
  });

  it('that cancel a paid image are told what is known, and it is not asked for again', async () => {
    const marker = newMarker();
    provider.plan(marker, { latencyMs: 30_000 });
    const { taskId = '' } = await callers.submit(marker);
    expect(await waitUntil(() => provider.startsOf(marker).length === 1, { timeoutMs: 20_000 })).toBe(true);
    const cancelled = await callers.ask(`/v1/tasks/${taskId}/cancel`, { method: 'POST' });
    expect(cancelled.body).toMatchObject({ data: { status: 'cancelled', charged: 'unknown' } });
    const stopped = (): boolean => room.output().includes('task.lease_lost');
    expect(await waitUntil(stopped, { timeoutMs: 20_000 })).toBe(true);
    expect(provider.startsOf(marker)).toHaveLength(1);
  });

  it('of a service without workers get their 504 with the id, and the task ends at its deadline', async () => {
    await Promise.all([room.worker.stop(), room.api.stop()]);
    // As short only here, where they are waited for.
    await room.api.start({ SYNC_WAIT_MS: '1500', TASK_DEADLINE_MS: '4000', REDIS_COMMAND_TIMEOUT_MS: '2000' });
    const outcome = await callers.generate(newMarker());
    expect([outcome.status, outcome.headers.get('x-should-retry')]).toEqual([504, 'false']);
    expect(outcome.body).toMatchObject({ error: { code: 'still_running', task_id: outcome.taskId } });
    measured('No worker', 'until 504 (SYNC_WAIT_MS 1.5 s)', outcome.milliseconds);
    // With Redis gone too.
    room.breakLinks('redis', 'black-hole');
    expect(await callers.ended([outcome.taskId ?? ''])).toEqual(['failed']);
    measured(
      'No worker and no Redis',
      'until the task has failed (TASK_DEADLINE_MS 4 s)',
      Date.now() - outcome.startedAt,
    );
    room.breakLinks('redis', 'pass');
    expect((await callers.read(outcome.taskId ?? ''))?.error?.code).toBe('generation_timeout');
    await room.api.stop();
    await Promise.all([room.worker.start(), room.api.start()]);
    // The way to Redis is looked for again at intervals, which may be longer than a caller waits here.
    const answers = async (): Promise<boolean> => (await callers.generate(newMarker())).status === 200;
    expect(await waitUntil(answers, { timeoutMs: 60_000 })).toBe(true);
  });
});
