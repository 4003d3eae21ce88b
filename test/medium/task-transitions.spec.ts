import { allTasksOf, taskError } from '#tasks/row/task.js';
import { AppError } from '#contract/app-error.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const LEASE_MS = 20_000;
const DEADLINE_MS = 900_000;
const image = { key: 'results/x-1.png', contentType: 'image/png', width: 8, height: 8, bytes: 100, sha256: 'ab' };
const SANDBOX = { provider: 'sandbox', key: '', model: 'gpt-image-2', free: true };
const PAID = { provider: 'paid', key: 'main', model: 'gpt-image-2', free: false };
const result = { images: [image], usage: undefined, warnings: [] };

describe('the transitions of a task', () => {
  let room: TaskRoom;
  beforeAll(async () => {
    room = await openTaskRoom();
  });
  afterAll(() => room.close());

  async function accepted(deadlineMs = DEADLINE_MS): Promise<string> {
    return (await room.inserts.insert(command(), deadlineMs)).id;
  }

  async function claimed(id?: string) {
    const task = await room.transitions.claim(id ?? (await accepted()), 'worker', LEASE_MS);
    if (task === undefined) throw new Error('not claimed');
    return { id: task.task.id, attempt: task.attempt, task };
  }

  it('keeps the command and starts as pending and queued', async () => {
    const wanted = command({ inputs: [{ kind: 'url', url: 'https://example.com/a.png', param: 'image_urls[0]' }] });
    await room.inserts.insert(wanted, DEADLINE_MS);
    const task = await room.store.find(allTasksOf(TEST_ACCOUNT), wanted.id);
    expect(task).toMatchObject({
      id: wanted.id,
      status: 'pending',
      phase: 'queued',
      progress: 0,
      options: wanted.options,
    });
    const { task: lease } = await claimed(wanted.id);
    expect(lease).toMatchObject({
      prompt: wanted.prompt,
      inputs: wanted.inputs,
      mask: null,
      attempt: 1,
      providerStarts: 0,
    });
    expect(lease.remainingMs).toBeGreaterThan(DEADLINE_MS - 60_000);
    expect(lease.remainingMs).toBeLessThanOrEqual(DEADLINE_MS);
  });

  it('is the same unknown task to another account', async () => {
    expect(await room.store.find(allTasksOf('acct_other'), await accepted())).toBeUndefined();
  });

  it('is found for its own account alone when many ask in one moment', async () => {
    const ids = await Promise.all(Array.from({ length: 60 }, () => accepted()));
    await room.sql(`UPDATE tasks SET account_id = 'acct_other' WHERE id = ANY($1)`, [ids.slice(0, 30)]);
    const asked = ids.flatMap((id) => [TEST_ACCOUNT, 'acct_other'].map((account) => ({ account, id })));
    const found = await Promise.all(asked.map(({ account, id }) => room.store.find(allTasksOf(account), id)));
    const expected = asked.map(({ account, id }) => (account === 'acct_other') === ids.indexOf(id) < 30);
    expect(found.map((task, index) => task?.id === asked[index]?.id)).toEqual(expected);
  });

  it('is claimed by one of fifty workers', async () => {
    const id = await accepted();
    const claims = await Promise.all(
      Array.from({ length: 50 }, (_, n) => room.transitions.claim(id, `worker-${n}`, LEASE_MS)),
    );
    expect(claims.filter((claim) => claim !== undefined)).toHaveLength(1);
  });

  it('passes to another worker when the lease has run out, and shuts the first one out of every move', async () => {
    const first = await claimed();
    await room.sql(`UPDATE tasks SET lease_until = now() - interval '1 second' WHERE id = $1`, [first.id]);
    const second = await claimed(first.id);
    expect(second.attempt).toBe(2);

    expect(await room.transitions.startProvider(first, SANDBOX, 3)).toBe(false);
    expect(await room.transitions.acceptedByProvider(first, 'job')).toBe(false);
    expect(await room.transitions.progress(first, 50, 'running')).toBe(false);
    expect(await room.transitions.complete(first, result)).toBeUndefined();
    expect(await room.transitions.fail(first, taskError(new AppError('internal_error', 'x')))).toBe(false);
    expect(await room.transitions.release(first, 0)).toBeUndefined();
    expect(await room.transitions.renew([first, second], LEASE_MS)).toEqual([{ id: second.id, attempt: 2 }]);
    expect(await room.transitions.complete(second, result)).toMatchObject({
      outcome: { status: 'completed', images: [image] },
    });
  });

  it('ends once: completion, failure and release after the end change nothing', async () => {
    const lease = await claimed();
    expect(await room.transitions.complete(lease, result)).toMatchObject({
      outcome: { status: 'completed', images: [image] },
    });
    expect(await room.transitions.fail(lease, taskError(new AppError('internal_error', 'late')))).toBe(false);
    expect(await room.transitions.release(lease, 0)).toBeUndefined();
    expect(await room.transitions.claim(lease.id, 'worker', LEASE_MS)).toBeUndefined();
    const task = await room.store.find(allTasksOf(TEST_ACCOUNT), lease.id);
    expect(task).toMatchObject({ status: 'completed', phase: 'done', progress: 100, error: null, images: [image] });
    expect(task?.finishedAt).toBeInstanceOf(Date);
  });

  it.each(['completed', 'failed', 'cancelled'])('is refused by the database itself once it is %s', async (status) => {
    const id = await accepted();
    await room.sql(`UPDATE tasks SET status = $2, finished_at = now() WHERE id = $1`, [id, status]);
    const revived = room.sql(`UPDATE tasks SET status = 'pending', finished_at = NULL WHERE id = $1`, [id]);
    await expect(revived).rejects.toThrow(/is already/);
  });

  it('is free for others once it was released, though a renewal of its lease comes after that', async () => {
    const { id } = await room.inserts.insert(command(), DEADLINE_MS);
    const first = await room.transitions.claim(id, 'first', 60_000);
    const lease = { id, attempt: first?.attempt ?? 0 };
    await room.transitions.release(lease, 0);
    expect(await room.transitions.renew([lease], 60_000)).toEqual([]);
    expect(await room.transitions.claim(id, 'second', 60_000)).toMatchObject({ attempt: 2, losses: 0 });
  });

  it('counts provider starts and stops at the cap', async () => {
    const lease = await claimed();
    const starts = [];
    for (let n = 0; n < 4; n++) starts.push(await room.transitions.startProvider(lease, SANDBOX, 3));
    expect(starts).toEqual([true, true, true, false]);
  });

  it('remembers a provider call whose outcome nobody learned, and forgets it when it is known', async () => {
    const lease = await claimed();
    await room.transitions.startProvider(lease, PAID, 3);
    await room.transitions.acceptedByProvider(lease, 'vendor-job-7');
    await room.transitions.release(lease, 0);
    const second = await claimed(lease.id);
    expect(second.task).toMatchObject({ providerCallOpen: true, providerJobId: 'vendor-job-7', providerStarts: 1 });
    await room.transitions.release(second, 0, { outcome: 'failed', charged: 'no' });
    expect((await claimed(lease.id)).task.providerCallOpen).toBe(false);
  });

  it('writes every call down, with its end and never twice', async () => {
    const lease = await claimed();
    await room.transitions.startProvider(lease, PAID, 3);
    await room.transitions.acceptedByProvider(lease, 'vendor-job-7');
    await room.transitions.startProvider(lease, SANDBOX, 3, {
      outcome: 'failed',
      code: 'upstream_error',
      charged: 'no',
    });
    await room.transitions.complete(lease, result, { outcome: 'succeeded', charged: 'no' });
    const { calls = [] } = (await room.store.history(allTasksOf(TEST_ACCOUNT), lease.id)) ?? {};
    const times = { startedAt: expect.any(String), endedAt: expect.any(String) };
    const failed = { outcome: 'failed', code: 'upstream_error', charged: 'no' };
    const named = { upstreamId: 'vendor-job-7', acceptedAt: expect.any(String) };
    expect(calls).toEqual([
      { n: 1, ...PAID, ...times, ...named, ...failed },
      { n: 2, ...SANDBOX, ...times, outcome: 'succeeded', charged: 'no' },
    ]);
    expect(Date.parse(calls[0]?.endedAt ?? '')).toBe(Date.parse(calls[1]?.startedAt ?? ''));
    const other = await claimed();
    await room.transitions.startProvider(other, PAID, 3);
    await room.transitions.release(other, 0, { outcome: 'failed', charged: 'maybe' });
    const second = await claimed(other.id);
    expect(second.task).toMatchObject({ providerCallOpen: true, lastCall: { outcome: 'failed', charged: 'maybe' } });
    await room.transitions.fail(second, taskError(new AppError('interrupted', 'x')), {
      outcome: 'unknown',
      charged: 'maybe',
    });
    expect((await room.store.history(allTasksOf(TEST_ACCOUNT), other.id))?.calls).toMatchObject([
      { outcome: 'failed' },
    ]);
  });

  it('takes no start that arrives after the task was released', async () => {
    const lease = await claimed();
    await room.transitions.release(lease, 0);
    expect(await room.transitions.startProvider(lease, PAID, 3)).toBe(false);
    expect((await claimed(lease.id)).task).toMatchObject({ providerCallOpen: false, providerStarts: 0 });
  });

  it('is parked without going back a phase, held by nobody, and taken up without counting anything', async () => {
    const lease = await claimed();
    await room.transitions.startProvider(lease, PAID, 3);
    await room.transitions.acceptedByProvider(lease, 'vendor-job-7');
    await room.sql(
      `UPDATE tasks SET calls = jsonb_set(calls, '{0,acceptedAt}', to_jsonb(now() - interval '1 minute')) WHERE id = $1`,
      [lease.id],
    );
    expect(await room.transitions.park(lease, 60_000)).toEqual({ taskId: lease.id, epoch: 2, delayMs: 60_000 });
    expect(await room.store.find(allTasksOf(TEST_ACCOUNT), lease.id)).toMatchObject({
      phase: 'running',
      openProvider: 'paid',
    });
    expect(await room.transitions.claim(lease.id, 'early', LEASE_MS)).toBeUndefined();
    expect(await room.transitions.renew([lease], LEASE_MS)).toEqual([]);
    await room.sql(`UPDATE tasks SET next_try_at = now() - interval '1 s' WHERE id = $1`, [lease.id]);
    const { task } = await claimed(lease.id);
    expect(task).toMatchObject({
      attempt: 2,
      tries: 1,
      losses: 0,
      providerStarts: 1,
      providerJobId: 'vendor-job-7',
      providerCallOpen: true,
      lastCall: { provider: 'paid', key: 'main' },
    });
    expect(task.waitedMs).toBeGreaterThanOrEqual(60_000);
    expect(await room.transitions.park(lease, 0)).toBeUndefined();
  });

  it('never shows progress going back, nor 100 before the end', async () => {
    const lease = await claimed();
    for (const percent of [40, 20, 250]) await room.transitions.progress(lease, percent, 'running');
    expect((await room.store.find(allTasksOf(TEST_ACCOUNT), lease.id))?.progress).toBe(99);
    const other = await claimed();
    for (const percent of [40, 20]) await room.transitions.progress(other, percent, 'running');
    expect((await room.store.find(allTasksOf(TEST_ACCOUNT), other.id))?.progress).toBe(40);
  });

  it('is not claimed before its next try is due, nor after its deadline', async () => {
    const lease = await claimed();
    const entry = await room.transitions.release(lease, 60_000);
    expect(entry).toEqual({ taskId: lease.id, epoch: 2, delayMs: 60_000 });
    expect(await room.transitions.claim(lease.id, 'worker', LEASE_MS)).toBeUndefined();
    const overdue = await accepted();
    await room.sql(`UPDATE tasks SET deadline_at = now() - interval '1 second' WHERE id = $1`, [overdue]);
    expect(await room.transitions.claim(overdue, 'worker', LEASE_MS)).toBeUndefined();
  });

  it('is due at once while it waits for a provider, under an epoch that no other release uses', async () => {
    const lease = await claimed();
    const entry = await room.transitions.release(lease, 60_000, undefined, { wait: true });
    expect(entry).toEqual({ taskId: lease.id, epoch: 1, delayMs: 60_000 });
    const again = await room.transitions.claim(lease.id, 'worker', LEASE_MS);
    expect(again).toMatchObject({ nextEpoch: 2, caller: { accountId: TEST_ACCOUNT, accountWeight: 1, weight: 1 } });
    const parked = await room.transitions.park({ id: lease.id, attempt: again?.attempt ?? 0 }, 60_000);
    expect(parked).toMatchObject({ epoch: 3 });
  });

  describe('of many tasks at one moment', () => {
    const free = { outcome: 'succeeded', charged: 'no' } as const;
    const broken = { images: [image], usage: { input_tokens: 'many' } as never, warnings: [] };

    it('are one statement each, and every row keeps its own fence', async () => {
      const ids = await Promise.all(Array.from({ length: 12 }, async () => accepted()));
      const all = await Promise.all(ids.map(async (id) => claimed(id)));
      expect(await writers(room, ids)).toBe(1);
      const lost = all.slice(0, 3);
      await room.sql('UPDATE tasks SET attempt = attempt + 1 WHERE id = ANY($1)', [lost.map(({ id }) => id)]);
      const starts = await Promise.all(all.map((lease) => room.transitions.startProvider(lease, PAID, 3)));
      const steps = await Promise.all(all.map((lease) => room.transitions.progress(lease, 50, 'running')));
      const ends = await Promise.all(all.map((lease) => won(room.transitions.complete(lease, result, free))));
      for (const answers of [starts, steps, ends]) expect(answers).toEqual(all.map((lease) => !lost.includes(lease)));
      // The completions', and the test's own.
      expect(await writers(room, ids)).toBe(2);
      const { rows } = await room.sql(
        'SELECT id, status, provider_starts, progress, calls FROM tasks WHERE id = ANY($1) ORDER BY id',
        [ids],
      );
      const untouched = { status: 'pending', provider_starts: 0, progress: 0, calls: [] };
      const ended = { status: 'completed', provider_starts: 1, progress: 100, calls: [{ n: 1, ...PAID, ...free }] };
      for (const row of rows as { id: string }[]) {
        expect(row).toMatchObject(lost.some(({ id }) => id === row.id) ? untouched : ended);
      }
    });

    it('leave a task that is wanted twice to one of them', async () => {
      const one = await accepted();
      const other = await accepted();
      const claims = await Promise.all([one, other, one].map((id) => room.transitions.claim(id, 'worker', LEASE_MS)));
      expect(claims.map((claim) => claim?.task.id)).toEqual([one, other, undefined]);
    });

    it('tell two attempts at one task apart', async () => {
      const first = await claimed();
      await room.sql(`UPDATE tasks SET lease_until = now() - interval '1 second' WHERE id = $1`, [first.id]);
      const second = await claimed(first.id);
      const ends = [first, second, first].map((lease) => won(room.transitions.complete(lease, result)));
      expect(await Promise.all(ends)).toEqual([false, true, false]);
    });

    it('fail alone: what Postgres refuses keeps no other task from ending', async () => {
      const all = await Promise.all(Array.from({ length: 5 }, async () => claimed()));
      const ends = all.map((lease, index) => room.transitions.complete(lease, index === 2 ? broken : result));
      const outcomes = await Promise.allSettled(ends);
      expect(outcomes.map(({ status }) => status)).toEqual(all.map((_, n) => (n === 2 ? 'rejected' : 'fulfilled')));
      const statuses = await Promise.all(
        all.map(async ({ id }) => (await room.store.find(allTasksOf(TEST_ACCOUNT), id))?.status),
      );
      expect(statuses).toEqual(all.map((_, index) => (index === 2 ? 'pending' : 'completed')));
      expect(await won(room.transitions.complete(all[2] as (typeof all)[0], result))).toBe(true);
    });

    it('wait for no lock of another: what is locked is refused or done when it may be', async () => {
      const [stuck, other, third] = await Promise.all([claimed(), claimed(), claimed()]);
      const locker = await room.database.pool.connect();
      await locker.query('BEGIN');
      // It is idle for as long as the others take.
      await locker.query('SET LOCAL idle_in_transaction_session_timeout = 0');
      await locker.query('SELECT 1 FROM tasks WHERE id = $1 FOR UPDATE', [stuck.id]);
      const held = won(room.transitions.complete(stuck, result));
      // Sent while the first one waits.
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      const ends = await Promise.all([other, third].map((lease) => won(room.transitions.complete(lease, result))));
      expect(ends).toEqual([true, true]);
      await locker.query('COMMIT');
      locker.release();
      // On a busy machine it has not got the lock in time.
      expect(await held.catch(() => won(room.transitions.complete(stuck, result)))).toBe(true);
    });
  });

  it('changes in place while it runs: no index covers what an update touches', async () => {
    const lease = await claimed();
    await room.sql('SELECT pg_stat_force_next_flush()');
    const before = await hotUpdates(room);
    for (let percent = 1; percent <= 50; percent++) await room.transitions.progress(lease, percent, 'running');
    await room.sql('SELECT pg_stat_force_next_flush()');
    const after = await hotUpdates(room);
    expect((after.hot - before.hot) / (after.all - before.all)).toBeGreaterThan(0.9);
  });
});

/** Whether the move was made. */
async function won(move: Promise<unknown>): Promise<boolean> {
  return (await move) !== undefined;
}

/** How many transactions wrote the rows as they are. */
async function writers(room: TaskRoom, ids: readonly string[]): Promise<number> {
  const { rows } = await room.sql('SELECT count(DISTINCT xmin::text)::int AS writers FROM tasks WHERE id = ANY($1)', [
    ids,
  ]);
  return (rows[0] as { writers: number }).writers;
}

/** From one connection, because each reports its own updates when asked to. */
async function hotUpdates(room: TaskRoom): Promise<{ hot: number; all: number }> {
  const { rows } = await room.sql(
    `SELECT (n_tup_hot_upd)::int AS hot, (n_tup_upd)::int AS all FROM pg_stat_xact_user_tables WHERE relname = 'none'
     UNION ALL SELECT pg_stat_get_tuples_hot_updated('tasks'::regclass)::int, pg_stat_get_tuples_updated('tasks'::regclass)::int`,
  );
  return rows[0] as { hot: number; all: number };
}

describe('a page of tasks', () => {
  let room: TaskRoom;
  const ids: string[] = [];
  beforeAll(async () => {
    room = await openTaskRoom();
    for (let n = 0; n < 7; n++) {
      const { id } = await room.inserts.insert(command(), DEADLINE_MS);
      await room.sql(`UPDATE tasks SET created_at = created_at + $2 * interval '1 second' WHERE id = $1`, [id, n]);
      ids.unshift(id);
    }
    // Two with the same time: the id decides.
    await room.sql(`UPDATE tasks SET created_at = '2026-01-01T00:00:00Z' WHERE id = ANY($1)`, [ids.slice(5)]);
    await room.sql(`UPDATE tasks SET status = 'failed', finished_at = now() WHERE id = $1`, [ids[1]]);
  });
  afterAll(() => room.close());

  it('walks from the newest to the oldest without gap or repetition', async () => {
    const walked: string[] = [];
    for (let after: string | undefined, more = true; more;) {
      const page = await room.lists.list(allTasksOf(TEST_ACCOUNT), { limit: 3, after });
      walked.push(...page.tasks.map((task) => task.id));
      after = page.tasks.at(-1)?.id;
      more = page.hasMore;
    }
    expect(walked).toHaveLength(7);
    expect(new Set(walked)).toEqual(new Set(ids));
    expect(walked.slice(0, 5)).toEqual(ids.slice(0, 5));
    expect(walked.slice(5)).toEqual([...ids.slice(5)].sort().reverse());
  });

  it('filters by status and age, and shows another account nothing', async () => {
    const failed = await room.lists.list(allTasksOf(TEST_ACCOUNT), { limit: 10, status: 'failed' });
    expect(failed.tasks.map((task) => task.id)).toEqual([ids[1]]);
    const recent = await room.lists.list(allTasksOf(TEST_ACCOUNT), { limit: 10, since: new Date('2026-01-02') });
    expect(recent.tasks).toHaveLength(5);
    expect(await room.lists.list(allTasksOf('acct_other'), { limit: 10 })).toEqual({ tasks: [], hasMore: false });
    expect(await room.lists.list(allTasksOf('acct_other'), { limit: 10, after: ids[3] })).toEqual({
      tasks: [],
      hasMore: false,
    });
  });
});
