import { jest } from '@jest/globals';
import { loadConfig } from '#config/load-config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { FIRST_PRIORITY } from '#queue/fair-scripts.js';
import { RetractTasks } from '#tasks/intake/retract-tasks.js';
import { allTasksOf } from '#tasks/row/task.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { Sweeper } from '#tasks/states/sweeper.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;

describe('the sweep', () => {
  let room: TaskRoom;
  beforeEach(async () => {
    room = await openTaskRoom();
  });
  afterEach(() => room.close());

  /** A task that was accepted a minute ago. */
  async function oldTask(): Promise<string> {
    const { id } = await room.inserts.insert(command(), DEADLINE_MS);
    await room.sql(`UPDATE tasks SET created_at = created_at - interval '1 minute' WHERE id = $1`, [id]);
    return id;
  }

  async function jobsOf(id: string): Promise<string[]> {
    const keys = await room.redis.keys(`${room.prefix}:images:${id}-*`);
    return keys.map((key) => key.slice(key.lastIndexOf('-') + 1)).sort();
  }

  it('fails what is past its deadline, and only that, with Redis gone too', async () => {
    const overdue = await oldTask();
    const fine = await oldTask();
    await room.sql(`UPDATE tasks SET deadline_at = now() - interval '1 second' WHERE id = $1`, [overdue]);
    room.redis.disconnect();
    expect(await room.newSweep().failOverdue()).toBe(1);
    expect(await room.store.find(allTasksOf(TEST_ACCOUNT), overdue)).toMatchObject({
      status: 'failed',
      error: { code: 'generation_timeout', type: 'timeout_error', http_status: 504 },
    });
    expect(await room.store.find(allTasksOf(TEST_ACCOUNT), fine)).toMatchObject({ status: 'pending' });
  });

  it('counts each task that it fails by the code of its error', async () => {
    const overdue = await oldTask();
    await oldTask();
    await oldTask();
    await room.sql(`UPDATE tasks SET deadline_at = now() - interval '1 second' WHERE id = $1`, [overdue]);
    await room.sql('UPDATE accounts SET disabled_at = now() WHERE id = $1', [TEST_ACCOUNT]);
    const [config] = loadConfig([TasksConfig], { SWEEP_INTERVAL_MS: '200' });
    const sweeper = new Sweeper(room.newSweep(), room.deliveries, config, room.logger, room.metrics);
    const swept = async () => (await room.metrics.text()).includes('sweep_actions_total{action="failed_overdue"} 3');
    sweeper.onApplicationBootstrap();
    const isSwept = await waitUntil(swept, { timeoutMs: 20_000 }).finally(() => sweeper.beforeApplicationShutdown());
    expect(isSwept).toBe(true);
    const counted = (await room.metrics.text()).split('\n').filter((line) => line.startsWith('darkroom_tasks_ended'));
    expect(counted.sort()).toEqual([
      'darkroom_tasks_ended_total{outcome="failed",code="account_disabled"} 2',
      'darkroom_tasks_ended_total{outcome="failed",code="generation_timeout"} 1',
    ]);
  });

  it('fails hundreds of overdue tasks in one sweep', async () => {
    const overdue = await oldTask();
    await room.sql(
      `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, deadline_at)
       SELECT id || n, account_id, api_key_id, request_id, action, model, prompt, options, now() - interval '1 second'
       FROM tasks, generate_series(1, 250) AS n WHERE id = $1`,
      [overdue],
    );
    expect(await room.newSweep().failOverdue()).toBe(250);
    expect(await room.newSweep().failOverdue()).toBe(0);
  });

  it('enqueues a task whose submitter died between commit and enqueue', async () => {
    const id = await oldTask();
    expect(await room.newSweep().enqueueForgotten()).toBe(1);
    expect(await jobsOf(id)).toEqual(['1']);
  });

  it('leaves a task whose caller was refused to be taken back, however late its row appears, unless it is wanted', async () => {
    const retract = new RetractTasks(room.database, room.queue, room.tasksConfig, room.logger);
    const refused = await oldTask();
    const wanted = await oldTask();
    const died = await oldTask();
    const { createdAt } = await room.database.task.findUniqueOrThrow({ where: { id: wanted } });
    await room.database.task.update({ where: { id: wanted }, data: { nextTryAt: createdAt } });
    for (const id of [refused, wanted]) retract.add(id);
    expect(await room.newSweep().enqueueForgotten()).toBe(2);
    expect(await waitUntil(() => Promise.resolve(!retract.has(refused)), { timeoutMs: 20_000 })).toBe(true);
    expect(await room.store.find(allTasksOf(TEST_ACCOUNT), refused)).toBeUndefined();
    expect([await jobsOf(refused), await jobsOf(wanted), await jobsOf(died)]).toEqual([[], ['1'], ['1']]);
  });

  it('gives a new task its time also when the clock of the process is ahead', async () => {
    await room.inserts.insert(command(), DEADLINE_MS);
    const now = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 120_000);
    const enqueued = await room
      .newSweep()
      .enqueueForgotten()
      .finally(() => now.mockRestore());
    expect(enqueued).toBe(0);
  });

  it('lets one process at a time look through a long backlog, the others at its beginning', async () => {
    const id = await oldTask();
    await room.sql(
      `INSERT INTO tasks SELECT (jsonb_populate_record(tasks, jsonb_build_object('id', id || '_' || n))).*
         FROM tasks, generate_series(1, 600) AS n WHERE id = $1`,
      [id],
    );
    const { rows } = await room.sql('SELECT id FROM tasks');
    await room.queue.addAll(rows.map((row: { id: string }) => ({ taskId: row.id, epoch: 0 })));
    const one = room.newSweep();
    const other = room.newSweep();
    expect([await one.enqueueForgotten(600_000), one.midway]).toEqual([0, true]);
    expect([await other.enqueueForgotten(600_000), other.midway]).toEqual([0, false]);
    expect([await one.enqueueForgotten(600_000), one.midway]).toEqual([0, false]);
  });

  it('leaves alone what has a job, is just being submitted, is in a worker’s hands, or is not due', async () => {
    const queued = await oldTask();
    await room.queue.add({ taskId: queued, epoch: 0 });
    const fresh = await room.inserts.insert(command(), DEADLINE_MS);
    const lease = await oldTask();
    await room.transitions.claim(lease, 'worker', 20_000);
    const later = await oldTask();
    const claim = await room.transitions.claim(later, 'worker', 20_000);
    await room.transitions.release({ id: later, attempt: claim?.attempt ?? 0 }, 60_000);
    expect(await room.newSweep().enqueueForgotten()).toBe(0);
    expect(await room.newSweep().requeueLost()).toBe(0);
    expect(await jobsOf(fresh.id)).toEqual([]);
  });

  it('asks for a parked task again whose job was lost, before others, and fails it at its deadline', async () => {
    const id = await oldTask();
    const claim = await room.transitions.claim(id, 'worker', 20_000);
    const lease = { id, attempt: claim?.attempt ?? 0 };
    await room.transitions.startProvider(lease, { provider: 'paid', key: '', model: 'm', free: false }, 3);
    await room.transitions.acceptedByProvider(lease, 'vendor-job-1');
    await room.transitions.park(lease, 60_000);
    expect(await room.newSweep().requeueLost()).toBe(0);
    expect(await room.newSweep().enqueueForgotten()).toBe(0);
    await room.sql(`UPDATE tasks SET next_try_at = now() - interval '6 seconds' WHERE id = $1`, [id]);
    expect(await room.newSweep().enqueueForgotten()).toBe(1);
    expect(await jobsOf(id)).toEqual(['3']);
    expect(await room.redis.hget(`${room.prefix}:images:${id}-3`, 'priority')).toBe(String(FIRST_PRIORITY));
    expect(await room.store.find(allTasksOf(TEST_ACCOUNT), id)).toMatchObject({ phase: 'running' });
    await room.sql(`UPDATE tasks SET deadline_at = now() - interval '1 second' WHERE id = $1`, [id]);
    expect(await room.newSweep().failOverdue()).toBe(1);
    const history = await room.store.history(allTasksOf(TEST_ACCOUNT), id);
    expect(history).toMatchObject({ status: 'failed', callRuns: false, calls: [{ upstreamId: 'vendor-job-1' }] });
  });

  it('puts every waiting task back after Redis lost everything, however many, once', async () => {
    const ids = [];
    for (let n = 0; n < 1_200; n++) ids.push(command());
    for (const item of ids) await room.inserts.insert(item, DEADLINE_MS);
    await room.sql(`UPDATE tasks SET created_at = created_at - interval '1 minute'`);
    const sweeps = [room.newSweep(), room.newSweep()];
    let enqueued = 0;
    for (let round = 0; round < 3; round++) {
      for (const found of await Promise.all(sweeps.map((sweep) => sweep.enqueueForgotten()))) enqueued += found;
    }
    expect(enqueued).toBe(1_200);
    expect(await room.redis.keys(`${room.prefix}:images:task_*`)).toHaveLength(1_200);
  });

  it('requeues a task whose worker fell silent, under a job id that was never used', async () => {
    const id = await oldTask();
    await room.queue.add({ taskId: id, epoch: 0 });
    await room.transitions.claim(id, 'worker', 20_000);
    await room.sql(`UPDATE tasks SET lease_until = now() - interval '1 second' WHERE id = $1`, [id]);
    const results = await Promise.all([room.newSweep().requeueLost(), room.newSweep().requeueLost()]);
    expect(results.sort()).toEqual([0, 1]);
    expect(await jobsOf(id)).toEqual(['0', '1']);
    expect(await room.store.find(allTasksOf(TEST_ACCOUNT), id)).toMatchObject({ status: 'pending', phase: 'queued' });
  });
});
