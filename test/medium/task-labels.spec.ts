import type { TaskListQuery } from '#tasks/reading/task-list-store.js';
import { allTasksOf, type TaskScope } from '#tasks/row/task.js';
import { command, openTaskRoom, TEST_ACCOUNT, TEST_KEY, type TaskRoom } from '../support/task-room.js';

const ENOUGH = 60_000;
const HOUR_MS = 3_600_000;
const ALL = allTasksOf(TEST_ACCOUNT);

describe('tasks of an end user or with a tag', () => {
  let room: TaskRoom;
  /** Oldest first. */
  const ids: string[] = [];
  beforeAll(async () => {
    room = await openTaskRoom();
    await room.sql(`INSERT INTO accounts (id, name) VALUES ('acct_other', 'Other')`);
    for (let n = 0; n < 12; n++) {
      const labels = n % 2 === 0 ? { endUser: 'ann', tags: ['a', `n${n % 3}`] } : { endUser: 'bob' };
      const { id } = await room.inserts.insert(command(n === 11 ? {} : labels), ENOUGH);
      // Also the order of tasks of one moment is defined.
      const at = new Date(Date.now() - (20 - (n >> 1)) * HOUR_MS);
      const status = n % 4 === 0 ? 'failed' : 'pending';
      await room.sql(
        `UPDATE tasks SET created_at = $2, status = $3, phase = CASE $3 WHEN 'failed' THEN 'done' ELSE phase END,
          finished_at = CASE $3 WHEN 'failed' THEN now() END WHERE id = $1`,
        [id, at, status],
      );
      ids.push(id);
    }
    await room.inserts.insert(command({ accountId: 'acct_other', endUser: 'ann', tags: ['a'] }), ENOUGH);
  });
  afterAll(() => room.close());

  const list = async (query: Omit<TaskListQuery, 'limit'>, limit = 100, scope: TaskScope = ALL): Promise<number[]> => {
    const { tasks } = await room.lists.list(scope, { limit, ...query });
    return tasks.map(({ id }) => ids.indexOf(id));
  };

  it('are listed in order, page by page, and with every other filter', async () => {
    expect(await list({ endUser: 'ann' })).toEqual([10, 8, 6, 4, 2, 0]);
    expect(await list({ tag: 'a', order: 'oldest' })).toEqual([0, 2, 4, 6, 8, 10]);
    expect(await list({ tag: 'n0' })).toEqual([6, 0]);
    expect(await list({ endUser: 'bob', tag: 'a' })).toEqual([]);
    expect(await list({ endUser: 'ann', tag: 'n2' })).toEqual([8, 2]);
    expect(await list({ endUser: 'ann', status: 'failed' })).toEqual([8, 4, 0]);
    expect(await list({ tag: 'a', status: 'pending', model: 'gpt-image-2', apiKeyId: TEST_KEY })).toEqual([10, 6, 2]);
    expect(await list({ tag: 'a', since: new Date(Date.now() - 18.5 * HOUR_MS) })).toEqual([10, 8, 6, 4]);
    expect(await list({ endUser: 'nobody' })).toEqual([]);
    const pages: number[] = [];
    for (let after: string | undefined; ;) {
      const { tasks, hasMore } = await room.lists.list(ALL, { endUser: 'ann', limit: 4, after });
      pages.push(...tasks.map(({ id }) => ids.indexOf(id)));
      if (!hasMore) break;
      after = tasks.at(-1)?.id;
    }
    expect(pages).toEqual([10, 8, 6, 4, 2, 0]);
    expect(await list({ endUser: 'ann', after: ids[4] })).toEqual([2, 0]);
    expect(await list({ endUser: 'ann', status: 'failed', after: ids[4] })).toEqual([0]);
  });

  it('are only those that the reader may see', async () => {
    const own = { accountId: TEST_ACCOUNT, own: { personId: null, keyIds: ['key_none'] } };
    expect(await list({ endUser: 'ann' }, 100, own)).toEqual([]);
    expect((await room.lists.count(own, { endUser: 'ann' })).count).toBe(0);
    expect(await room.lists.countByOutcome(own, { tag: 'a' })).toMatchObject({ errors: [] });
    expect(await list({ endUser: 'ann' }, 100, { ...own, own: { personId: null, keyIds: [TEST_KEY] } })).toHaveLength(
      6,
    );
  });

  it('are counted, put in order by figures, and counted by their errors', async () => {
    expect(await room.lists.count(ALL, { endUser: 'ann' })).toEqual({ count: 6, hasMore: false, isRankable: true });
    expect((await room.lists.count(ALL, { tag: 'a', status: 'failed' })).count).toBe(3);
    expect((await list({ tag: 'a', order: 'longest' })).slice(0, 3)).toEqual([0, 4, 8]);
    expect((await room.lists.countByOutcome(ALL, { endUser: 'ann', tag: 'n1' })).errors).toEqual([
      { name: 'internal_error', count: 1 },
    ]);
  });

  it('are forgotten with their tasks', async () => {
    const count = async (): Promise<number> =>
      ((await room.sql('SELECT 1 FROM task_labels WHERE account_id = $1', [TEST_ACCOUNT])) as { rows: unknown[] }).rows
        .length;
    expect(await count()).toBe(6 * 3 + 5);
    await room.sql(`UPDATE tasks SET end_user = NULL WHERE end_user = 'bob'`);
    expect(await count()).toBe(6 * 3);
    await room.sql('DELETE FROM tasks WHERE account_id = $1', [TEST_ACCOUNT]);
    expect(await count()).toBe(0);
  });
});
