import pg from 'pg';
import type { PrismaService } from '#database/prisma.service.js';
import { unknownEnd } from '#tasks/row/provider-call.js';
import { insertTasks } from '#tasks/row/insert-task.sql.js';
import { TaskTransitions } from '#tasks/states/task-transitions.js';
import { command, openTaskRoom, type TaskRoom } from '../support/task-room.js';

/** A server plans a prepared statement for good once it has run five times. */
const RUNS = 8;

describe('how Postgres finds the task of a move', () => {
  let room: TaskRoom;
  beforeAll(async () => {
    room = await openTaskRoom();
  });
  afterAll(() => room.close());

  it('is by its key, also while the planner believes that hardly any task is unfinished', async () => {
    await room.sql(
      `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, status, phase, finished_at, deadline_at)
       SELECT 'task_old' || n, 'acct_default', 'key_test', 'req_old', 'generation', 'gpt-image-2', 'p', '{}', 'completed', 'done', now(), now()
       FROM generate_series(1, 5000) AS n`,
    );
    await room.sql('ANALYZE tasks');
    const waiting = await Promise.all(Array.from({ length: RUNS }, () => room.inserts.insert(command(), 900_000)));
    const before = await scansOfOtherIndexes(room);

    // One connection, so that its counts are written when it ends.
    const pool = new pg.Pool({ ...room.database.pool.options, max: 1 });
    const transitions = new TaskTransitions({ pool } as PrismaService);
    for (const { id } of waiting) {
      await transitions.claim(id, 'worker', 20_000);
      const lease = { id, attempt: 1 };
      await transitions.startProvider(lease, { provider: 'sandbox', key: '', model: 'm', free: true }, 3);
      await transitions.startProvider(
        lease,
        { provider: 'openai', key: 'main', model: 'm', free: false },
        3,
        unknownEnd(true),
      );
      await transitions.progress(lease, 50, 'running');
      await transitions.renew([lease], 20_000);
      await transitions.acceptedByProvider(lease, 'job-1');
      await transitions.park(lease, 0);
      await transitions.claim(id, 'worker', 20_000);
      const second = { id, attempt: 2 };
      expect(
        await transitions.complete(second, { images: [], usage: undefined, warnings: [] }, unknownEnd(false)),
      ).toMatchObject({ outcome: { status: 'completed' } });
    }
    await pool.query('SELECT pg_stat_force_next_flush()');
    await pool.end();

    expect(await scansOfOtherIndexes(room)).toEqual(before);
  });

  it('reads no other task when a caller sends one request thousands of times', async () => {
    const fingerprint = Buffer.alloc(32, 1);
    await room.sql(
      `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, status, phase, finished_at, deadline_at,
         fingerprint, waiter, delivered_at)
       SELECT 'task_same' || n, 'acct_default', 'key_test', 'req_same', 'generation', 'gpt-image-2', 'p', '{}',
         CASE WHEN n % 20 = 0 THEN 'pending' ELSE 'completed' END, CASE WHEN n % 20 = 0 THEN 'queued' ELSE 'done' END,
         CASE WHEN n % 20 = 0 THEN NULL ELSE now() END, now(), $1, CASE WHEN n % 20 = 0 THEN 'api-2' ELSE 'api-1' END,
         CASE WHEN n % 20 = 0 THEN NULL ELSE now() END
       FROM generate_series(1, 5000) AS n`,
      [fingerprint],
    );
    await room.sql('ANALYZE tasks');
    const before = await tasksRead(room);

    const pool = new pg.Pool({ ...room.database.pool.options, max: 1 });
    for (let run = 0; run < RUNS; run++) {
      const foundBy = { fingerprint, attachWindowMs: 60_000, waiter: 'api-2', unlessAwayFrom: 'api-2' };
      const rows = await insertTasks(pool, [{ command: command(), deadlineMs: 900_000, ...foundBy }]);
      expect(rows[0]).toMatchObject({ status: 'pending' });
    }
    await pool.query('SELECT pg_stat_force_next_flush()');
    await pool.end();

    expect(await tasksRead(room)).toBe(before);
  });
});

/** Tasks that Postgres read, of the table and of its indexes. */
async function tasksRead(room: TaskRoom): Promise<number> {
  await room.sql('SELECT pg_stat_force_next_flush()');
  const { rows } = await room.sql(
    `SELECT (seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'tasks'))::int AS read
     FROM pg_stat_user_tables WHERE relname = 'tasks'`,
  );
  return (rows as { read: number }[])[0]?.read ?? NaN;
}

async function scansOfOtherIndexes(room: TaskRoom): Promise<unknown> {
  await room.sql('SELECT pg_stat_force_next_flush()');
  const { rows } = await room.sql(
    `SELECT indexrelname, idx_scan::int FROM pg_stat_user_indexes
     WHERE relname = 'tasks' AND indexrelname <> 'tasks_pkey' ORDER BY 1`,
  );
  return rows;
}
