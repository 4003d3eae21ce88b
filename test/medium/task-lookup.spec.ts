import pg from 'pg';
import type { PrismaService } from '#database/prisma.service.js';
import { unknownEnd } from '#tasks/provider-call.js';
import { TaskTransitions } from '#tasks/task-transitions.js';
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
    const waiting = await Promise.all(Array.from({ length: RUNS }, () => room.store.insert(command(), 900_000)));
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
      expect(
        await transitions.complete(lease, { images: [], usage: undefined, warnings: [] }, unknownEnd(false)),
      ).toMatchObject({ status: 'completed' });
    }
    await pool.end();

    expect(await scansOfOtherIndexes(room)).toEqual(before);
  });
});

async function scansOfOtherIndexes(room: TaskRoom): Promise<unknown> {
  await room.sql('SELECT pg_stat_force_next_flush()');
  const { rows } = await room.sql(
    `SELECT indexrelname, idx_scan::int FROM pg_stat_user_indexes
     WHERE relname = 'tasks' AND indexrelname <> 'tasks_pkey' ORDER BY 1`,
  );
  return rows;
}
