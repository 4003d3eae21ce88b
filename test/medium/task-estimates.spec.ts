import { loadConfig } from '#config/load-config.js';
import { TaskEstimates } from '#tasks/admission/task-estimates.js';
import type { Task } from '#tasks/row/task.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { Metrics } from '#telemetry/metrics.js';
import { Leases } from '../../apps/worker/src/images/leases.js';
import { ProviderRegistry } from '../../apps/worker/src/providers/provider-registry.js';
import { ServiceReport } from '../../apps/worker/src/images/service-report.js';
import { TaskFigures } from '#tasks/reading/task-figures.js';
import { ShutdownGrace } from '../../apps/worker/src/providers/shutdown-grace.js';
import { WorkerConfig } from '../../apps/worker/src/worker.config.js';
import { command, openTaskRoom, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;
const KIND = 'gpt-image-2 1k auto sandbox';

describe('estimates', () => {
  let room: TaskRoom;
  beforeEach(async () => {
    room = await openTaskRoom();
  });
  afterEach(() => room.close());

  /** What one API process knows. */
  async function process(): Promise<TaskEstimates> {
    const estimates = new TaskEstimates(room.times, room.line, room.health);
    await estimates.refresh();
    return estimates;
  }

  /** What one worker process tells. */
  function worker(owner: string, concurrency = 2): ServiceReport {
    const [tasks, config] = loadConfig([TasksConfig, WorkerConfig], { WORKER_CONCURRENCY: String(concurrency) });
    const grace = new ShutdownGrace(config, ProviderRegistry.of(new Map()));
    const leases = new Leases(room.transitions, tasks, room.listener, room.logger, grace);
    const figures = new TaskFigures(room.database);
    return new ServiceReport(room.times, figures, config, leases, new Metrics(), room.logger, owner);
  }

  async function measured(report: ServiceReport, ms: number, count: number): Promise<void> {
    for (let n = 0; n < count; n++) report.add({ kind: KIND, ms });
    await report.report();
  }

  async function queued(apiKeyId: string): Promise<Task> {
    const task = await room.inserts.insert({ ...command(), apiKeyId }, DEADLINE_MS);
    await room.queue.add({
      taskId: task.id,
      epoch: 0,
      caller: { accountId: apiKeyId, accountWeight: 1, originalKeyId: apiKeyId, weight: 1 },
    });
    return task;
  }

  it('come to what was measured, at every process, whichever worker measured it', async () => {
    const one = worker('one');
    const two = worker('two', 3);
    await measured(one, 8_000, 64);
    expect((await process()).total(command(), 0)).toBe(8_000);
    await measured(two, 4_000, 40);
    const a = await process();
    const b = await process();
    expect([a.total(command(), 0), b.total(command(), 0)]).toEqual([4_000, 4_000]);
    // Five slots, and the mean of the last 64 tasks of its kind, the shortest and longest tenth left out.
    const mean = (24 * 8_000 + 40 * 4_000 - 6 * 12_000) / 52;
    expect(a.total(command(), 9)).toBe(Math.round(mean + 4_000));
    await measured(two, 4_000, 200);
    const later = await process();
    expect(later.total(command(), 9)).toBe(8_000);
    expect(await room.redis.hlen(`${room.prefix}:service-times`)).toBe(2);
  });

  it('know how many tasks wait and how long the oldest has, those between two tries apart', async () => {
    const figures = new TaskFigures(room.database);
    const retried = await queued('key_a');
    const waiting = await queued('key_b');
    const set = `UPDATE tasks SET created_at = now() - $2 * interval '1 second', next_try_at = $3, provider_starts = $4 WHERE id = $1`;
    await room.database.pool.query(set, [retried.id, 3_600, new Date(Date.now() + 600_000), 1]);
    // A provider or its limits held it before its first call.
    await room.database.pool.query(set, [waiting.id, 600, new Date(Date.now() + 600_000), 0]);
    const groups = async () =>
      (await figures.waiting())
        .map(({ count, retryAt, oldestMs }) => [count, retryAt !== null, Math.floor(oldestMs / 600_000)])
        .sort();
    expect(await groups()).toEqual([
      [1, false, 1],
      [1, true, 6],
    ]);
    expect(await figures.oldestWaitingSeconds()).toBeGreaterThanOrEqual(3_600);
    await room.database.pool.query(`UPDATE tasks SET phase = 'running' WHERE id = $1`, [retried.id]);
    expect(await groups()).toEqual([[1, false, 1]]);
    expect(await figures.queue()).toMatchObject({ running: 1 });
  });

  it('forget a worker that has stopped or is gone, and then nobody can say', async () => {
    const report = worker('one');
    await measured(report, 1_000, 3);
    expect((await process()).mostBefore(command(), 10_000)).toBe(1 + 18);
    await report.stop();
    const without = await process();
    expect([without.total(command(), 0), without.mostBefore(command(), 10_000)]).toEqual([undefined, undefined]);
    await report.report();
    await room.redis.zadd(`${room.prefix}:workers`, 1, 'one 2');
    expect((await process()).total(command(), 0)).toBeUndefined();
  });

  it('come with what each worker tells of itself, for as long as it is there', async () => {
    const { times } = room;
    const one = worker('one');
    const two = worker('two', 3);
    await one.report();
    await two.report();
    const facts = { pid: globalThis.process.pid, running: 0, version: '1.0.0' };
    expect(await times.workers()).toMatchObject([
      { id: 'one', slots: 2, ...facts },
      { id: 'two', slots: 3, ...facts },
    ]);
    await one.stop();
    // The other one falls silent: its time is over, and its facts go when anybody reports.
    await room.redis.zadd(`${room.prefix}:workers`, 1, 'two 3');
    expect(await times.workers()).toEqual([]);
    await worker('three').report();
    expect(await room.redis.hkeys(`${room.prefix}:worker-facts`)).toEqual(['three']);
    expect(await room.redis.pttl(`${room.prefix}:worker-facts`)).toBeGreaterThan(0);
  });

  it('are made from the rows again when Redis has lost them, and only then', async () => {
    const started = new Date();
    for (const seconds of [3, 5, 4]) {
      const { id } = await room.inserts.insert(command(), DEADLINE_MS);
      await room.sql(
        `UPDATE tasks SET status = 'completed', phase = 'done', provider = 'sandbox', started_at = $3,
          finished_at = $3::timestamptz + $2 * interval '1 second' WHERE id = $1`,
        [id, seconds, started],
      );
    }
    const report = worker('one');
    await report.report();
    expect((await process()).total(command(), 0)).toBe(4_000);
    await measured(report, 9_000, 20);
    await worker('two').report();
    expect((await process()).total(command(), 0)).toBe(9_000);
    const { all } = await room.times.read();
    expect(all.slice(0, 4)).toEqual([3_000, 4_000, 5_000, 9_000]);
    expect(all).toHaveLength(23);
  });

  it('tell each waiting task its place among its own account’s and nothing of others, and estimate by all that are before it', async () => {
    await measured(worker('one', 1), 1_000, 3);
    const first = await queued('a');
    const second = await queued('a');
    const third = await queued('a');
    const tasks = [first, second, third];
    const estimates = await process();
    const positions = async (): Promise<(number | undefined)[]> => {
      const found = await estimates.positions(tasks);
      return tasks.map(({ id }) => found.get(id)?.position);
    };
    expect(await positions()).toEqual([1, 2, 3]);
    // Another account's first turn comes before the second and third of this one, and after its first.
    const other = await queued('b');
    expect(await positions()).toEqual([1, 2, 3]);
    const found = await estimates.positions([second, other]);
    expect(estimates.outlook(second, found.get(second.id))).toMatchObject({ queuePosition: 2, estimatedMs: 3_000 });
    expect(estimates.outlook(other, found.get(other.id))).toMatchObject({ queuePosition: 1, estimatedMs: 2_000 });
    await room.queue.remove({ taskId: first.id, epoch: 0 });
    expect(await positions()).toEqual([undefined, 1, 2]);
    expect((await estimates.positions([third])).get(third.id)?.before).toBe(2);
    await queued('a'); // a later one of the same key never goes first
    expect(await positions()).toEqual([undefined, 1, 2]);
  });

  it('promise no earlier end than a pause of all providers allows, and none when nobody knows how long it lasts', async () => {
    await measured(worker('one', 1), 1_000, 3);
    const task = await queued('a');
    const estimates = await process();
    const position = (await estimates.positions([task])).get(task.id);
    const held = (ms: number | null, itsPosition = position) => estimates.outlook(task, itsPosition, ms).estimatedMs;
    expect([held(0), held(60_000), held(null)]).toEqual([1_000, 61_000, undefined]);
    // One that a worker released, because of the pause, has no position.
    expect(estimates.outlook(task, undefined, 60_000)).toEqual({ queuePosition: undefined, estimatedMs: 61_000 });
    // A long line takes longer than the pause.
    expect(held(60_000, { position: 1, before: 99 })).toBe(100_000);
  });

  it('tell how long a task would take that nobody has ordered yet, by its caller’s place, and take no turn for it', async () => {
    const caller = { accountId: 'c', accountWeight: 1, originalKeyId: 'c', weight: 1 };
    // What is usual is no forecast.
    expect(await (await process()).forecast(caller, command())).toBeUndefined();
    await measured(worker('one', 1), 1_000, 3);
    const estimates = await process();
    expect(await estimates.forecast(caller, command())).toBe(1_000);
    for (let n = 0; n < 3; n++) await queued('a');
    const of = (accountId: string) => estimates.forecast({ ...caller, accountId, originalKeyId: accountId }, command());
    for (let n = 0; n < 3; n++) expect([await of('a'), await of('c')]).toEqual([4_000, 2_000]);
    room.health.reportFailure();
    expect(await of('c')).toBeUndefined();
  });

  it('tell of one that runs how long its provider takes, never less than has passed, and of one that ended what was said', async () => {
    await measured(worker('one', 1), 5_000, 3);
    const estimates = await process();
    const { id } = await room.inserts.insert({ ...command(), estimatedMs: 7_000 }, DEADLINE_MS);
    const read = async () => (await room.store.look([id]))[0] as Task;
    const aged = performance.now();
    await room.sql(`UPDATE tasks SET created_at = now() - interval '10 seconds' WHERE id = $1`, [id]);
    await room.transitions.claim(id, 'one', 60_000);
    const running = estimates.outlook(await read()).estimatedMs ?? 0;
    expect(running).toBeGreaterThanOrEqual(15_000);
    expect(running).toBeLessThan(15_002 + performance.now() - aged);
    await room.sql(`UPDATE tasks SET started_at = now() - interval '9 seconds' WHERE id = $1`, [id]);
    const late = await read();
    expect(estimates.outlook(late).estimatedMs).toBe(late.underway?.ageMs);
    await room.transitions.fail(
      { id, attempt: 1 },
      { type: 'api_error', code: null, message: '', param: null, http_status: 500 },
    );
    expect(estimates.outlook(await read())).toEqual({ estimatedMs: 7_000, queuePosition: undefined });
  });

  it('say nothing without Redis rather than something wrong', async () => {
    await measured(worker('one', 1), 5_000, 3);
    const estimates = await process();
    const task = await queued('a');
    const position = (await estimates.positions([task])).get(task.id);
    room.redis.disconnect();
    expect(await estimates.positions([task])).toEqual(new Map());
    expect(estimates.outlook(task, position)).toEqual({ estimatedMs: undefined, queuePosition: undefined });
  });
});
