import { TaskFigures } from '#tasks/reading/task-figures.js';
import { allTasksOf } from '#tasks/row/task.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const HOUR_MS = 3_600_000;

describe('figures of waits', () => {
  let room: TaskRoom;
  let figures: TaskFigures;
  beforeEach(async () => {
    room = await openTaskRoom();
    figures = new TaskFigures(room.database);
  });
  afterEach(() => room.close());

  const insert = (columns: Partial<ReturnType<typeof command>> = {}) =>
    room.inserts.insert({ ...command(), ...columns }, HOUR_MS);
  const set = (id: string, columns: string, values: unknown[] = []) =>
    room.database.pool.query(`UPDATE tasks SET ${columns} WHERE id = $1`, [id, ...values]);

  it('group all waiting tasks by what they need, with their number and the age of the oldest', async () => {
    const old = await insert();
    await insert();
    await insert({ model: 'other' });
    const running = await insert();
    await set(old.id, `created_at = now() - interval '90 seconds'`);
    await set(running.id, `phase = 'running'`);
    const groups = (await figures.waiting()).sort((one, other) => other.count - one.count);
    expect(groups.map(({ model, count, retryAt }) => [model, count, retryAt])).toEqual([
      [old.model, 2, null],
      ['other', 1, null],
    ]);
    expect(groups[0]?.oldestMs).toBeGreaterThanOrEqual(90_000);
    // Those between two attempts are told apart.
    await set(old.id, `provider_starts = 1, next_try_at = now() + interval '1 minute'`);
    const retried = (await figures.waiting()).filter(({ retryAt }) => retryAt !== null);
    expect(retried).toMatchObject([{ model: old.model, count: 1 }]);
  });

  it('give a waiting task its position among those of its scope, the oldest first', async () => {
    const [first, second, foreign] = [await insert(), await insert(), await insert({ accountId: 'acct_other' })];
    await set(first.id, `created_at = now() - interval '2 minutes'`);
    await set(foreign.id, `created_at = now() - interval '3 minutes'`);
    const positionOf = async ({ id, createdAt }: typeof first, own?: readonly string[]) =>
      await figures.positionOf(
        { ...allTasksOf(TEST_ACCOUNT), own: own && { personId: null, keyIds: own } },
        { id, createdAt },
      );
    expect(await positionOf(second)).toBe(2);
    // Of a member without the first one's key.
    expect(await positionOf(second, ['key_none'])).toBe(1);
  });

  it('divide the latency of completed tasks into waiting, provider, and saving', async () => {
    const call = (from: number, to: number, more: object) => ({
      ...{ n: 1, provider: 'studio', key: '', model: 'm', free: true, charged: 'no', ...more },
      startedAt: new Date(from).toISOString(),
      endedAt: new Date(to).toISOString(),
    });
    const now = Date.now();
    const at = (seconds: number): number => now - 60_000 + seconds * 1_000;
    const { id } = await insert();
    const calls = [
      call(at(2), at(3), { outcome: 'failed' }),
      call(at(4), at(4), { outcome: 'not_called' }),
      call(at(10), at(15), { outcome: 'succeeded', storingMs: 1_500 }),
    ];
    await set(
      id,
      `status = 'completed', phase = 'done', provider = 'studio', created_at = $2, finished_at = $3, calls = $4::jsonb`,
      [new Date(at(0)), new Date(at(15)), JSON.stringify(calls)],
    );
    const both = (ms: number) => ({ p50: ms, p95: ms });
    const split = {
      tasks: 1,
      total: both(15_000),
      waiting: both(9_000),
      provider: both(4_500),
      saving: both(1_500),
    };
    const span = { accountId: TEST_ACCOUNT, from: new Date(at(-60)), to: new Date(now + 60_000) };
    expect(await figures.latency(span)).toEqual(split);
    expect(await figures.latency({ ...span, provider: 'studio' })).toEqual(split);
    expect(await figures.latency('installation')).toEqual(split);
    const none = { p50: null, p95: null };
    expect(await figures.latency({ ...span, model: 'other' })).toEqual({
      ...{ tasks: 0, total: none, waiting: none, provider: none, saving: none },
    });
    expect((await figures.latency({ ...span, accountId: 'acct_other' })).tasks).toBe(0);
    // The hours before an approval are nobody's latency, nor are those of a batch behind other requests.
    await set(id, `approval = jsonb_build_object('decidedAt', $2::timestamptz)`, [new Date(at(5))]);
    expect(await figures.latency(span)).toMatchObject({ total: both(10_000), waiting: both(4_000) });
    await set(id, `batch_id = $2`, ['batch_1']);
    expect((await figures.latency(span)).tasks).toBe(0);
  });

  it('leave out of usage what a task waited for its approval, and how long a batch took', async () => {
    const end = async (more: string): Promise<unknown> => {
      const { id } = await insert();
      const done = `status = 'completed', phase = 'done', created_at = now() - interval '1 hour', finished_at = now()`;
      await set(id, `${done}, images = '[{}]', ${more}`, []);
      const { rows } = await room.sql('SELECT latency_ms::int AS ms FROM usage_changes WHERE reference = $1', [id]);
      return (rows[0] as { ms: number | null }).ms;
    };
    expect(await end('attempt = 1')).toBe(3_600_000);
    expect(await end(`approval = jsonb_build_object('decidedAt', now() - interval '4 seconds')`)).toBe(4_000);
    expect(await end(`batch_id = 'batch_1'`)).toBeNull();
  });
});
