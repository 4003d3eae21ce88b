import { ChatUsageRepository } from '#billing/chat-usage.repository.js';
import { LabeledUsage } from '#billing/labeled-usage.js';
import { UsageRepository } from '#billing/usage.repository.js';
import type { LabelGroup, UsageRow } from '#billing/usage.js';
import { endTasks } from '#tasks/row/end-task.sql.js';
import { command, openTaskRoom, TEST_ACCOUNT, TEST_KEY, type TaskRoom } from '../support/task-room.js';

const ENOUGH = 60_000;
const FIGURES = ['images', 'failed', 'chats', 'spend', 'inputTokens', 'outputTokens'] as const;

interface LedgerRow {
  readonly end_user: string | null;
  readonly tags: string[] | null;
  readonly amount: string;
}

/** Tasks that ended in every way, tasks that wait, and chats; some with an end user, with tags, or with both. */
describe('usage by end user and by tag', () => {
  let room: TaskRoom;
  let usage: LabeledUsage;
  let all: UsageRepository;
  let ledger: LedgerRow[];
  beforeAll(async () => {
    room = await openTaskRoom();
    all = new UsageRepository(room.database);
    usage = new LabeledUsage(room.database, all);
    const users = [undefined, 'eu_a', 'eu_b', 'eu_c'];
    const tags = [[], ['x'], ['x', 'y'], ['y', 'z', 'y']];
    for (let n = 0; n < 48; n++) {
      const labels = { endUser: users[n % 4], tags: tags[(n >> 2) % 4] ?? [] };
      const task = await room.inserts.insert(
        command({ ...labels, cost: { reserved: 40_001 + 7 * n, currency: 'USD' } }),
        ENOUGH,
      );
      const by = { id: task.id, accountId: TEST_ACCOUNT };
      if (n % 3 === 0)
        await room.sql(`UPDATE tasks SET status = 'failed', phase = 'done', finished_at = now() WHERE id = $1`, [
          task.id,
        ]);
      else if (n % 3 === 1) await endTasks(room.database.pool, [{ by, status: 'cancelled' }]);
    }
    await room.sql(
      `UPDATE tasks SET status = 'completed', phase = 'done', finished_at = now(), images = '[{}]',
        usage = '{"input_tokens":3,"output_tokens":5}' WHERE status = 'pending' AND right(cost ->> 'reserved', 1)::int % 2 = 0`,
    );
    const chats = Array.from({ length: 8 }, (_, n) => ({
      request_id: `req_${n}`,
      account_id: TEST_ACCOUNT,
      api_key_id: TEST_KEY,
      model: 'talk',
      provider: 'up',
      provider_key: null,
      provider_model: 'talk',
      streamed: false,
      status: 200,
      outcome: 'completed' as const,
      input_tokens: n,
      output_tokens: 1,
      cached_tokens: 0,
      first_byte_ms: 1,
      duration_ms: 1,
      created_at: new Date().toISOString(),
      cost_micros: 13 + n,
      end_user: users[n % 4] ?? null,
      tags: n % 2 === 0 ? null : ['x'],
      refused_stage: null,
    }));
    await new ChatUsageRepository(room.database).add(chats);
    // What charges and chats say, settled or still reserved.
    ledger = (
      (await room.sql(
        `SELECT end_user, tags, sum(amount)::text AS amount FROM (
          SELECT end_user, tags, CASE kind WHEN 'refund' THEN -amount_micros WHEN 'reserve' THEN amount_micros ELSE 0 END AS amount
          FROM charges JOIN tasks ON id = task_id
          UNION ALL SELECT end_user, tags, cost_micros FROM chat_usage) AS spent GROUP BY 1, 2`,
      )) as { rows: LedgerRow[] }
    ).rows;
  });
  afterAll(() => room.close());

  const DAY_MS = 86_400_000;
  const read = (kind: LabelGroup, name?: string): Promise<UsageRow[]> =>
    usage.read(TEST_ACCOUNT, {
      kind,
      ...(name !== undefined && { name }),
      from: new Date(Date.now() - 2 * DAY_MS),
      to: new Date(Date.now() + DAY_MS),
      currency: 'USD',
    });
  const total = async (): Promise<UsageRow | undefined> => {
    const span = { from: new Date(Date.now() - 2 * DAY_MS), to: new Date(Date.now() + DAY_MS) };
    const rows = await all.read(TEST_ACCOUNT, { ...span, by: 'day', group: 'model', currency: 'USD' });
    return rows.find(({ of }) => of === 'all');
  };
  const spentOf = (fits: (row: LedgerRow) => boolean): number =>
    ledger.filter(fits).reduce((sum, { amount }) => sum + Number(amount), 0);

  /** Whatever is rolled up: everything agrees with the ledger, and every sum with its parts. */
  async function expectAgreement(): Promise<void> {
    const whole = await total();
    const byUser = await read('end_user');
    const groups = byUser.filter(({ of }) => of === 'group');
    expect(groups.map(({ group, spend }) => [group, spend])).toEqual([
      ...[null, 'eu_a', 'eu_b', 'eu_c'].map((user) => [user, spentOf(({ end_user }) => end_user === user)]),
    ]);
    for (const figure of FIGURES) {
      for (const level of ['step', 'group', 'all'] as const) {
        const rows = byUser.filter((row) => row.of === level);
        expect([figure, level, rows.reduce((sum, row) => sum + row[figure], 0)]).toEqual([
          figure,
          level,
          whole?.[figure],
        ]);
      }
    }
    expect(whole?.spend).toBe(spentOf(() => true));
    const byTag = await read('tag');
    const tags = byTag.filter(({ of }) => of === 'group').map(({ group, spend }) => [group, spend]);
    expect(tags).toEqual(['x', 'y', 'z'].map((tag) => [tag, spentOf((row) => row.tags?.includes(tag) ?? false)]));
    expect(byTag.at(-1)).toMatchObject({ of: 'all', spend: whole?.spend, images: whole?.images });
    const one = await read('end_user', 'eu_b');
    expect(one.at(-1)).toMatchObject({ of: 'all', spend: spentOf(({ end_user }) => end_user === 'eu_b') });
    expect(await read('tag', 'none')).toEqual([]);
  }

  it('equals the ledger to the millionth before anything is rolled up, when part of it is, and after', async () => {
    expect(ledger.length).toBeGreaterThan(10);
    await expectAgreement();
    await all.rollUp();
    await expectAgreement();
    const { rows: left } = await room.sql('SELECT 1 FROM usage_changes');
    expect(left).toEqual([]);
    await room.sql(
      `UPDATE tasks SET status = 'cancelled', phase = 'done', finished_at = now()
        WHERE id = (SELECT id FROM tasks WHERE status = 'pending' AND end_user = 'eu_b' LIMIT 1)`,
    );
    const { rows } = await room.sql(
      `SELECT end_user, tags, sum(amount)::text AS amount FROM (
        SELECT end_user, tags, CASE kind WHEN 'refund' THEN -amount_micros WHEN 'reserve' THEN amount_micros ELSE 0 END AS amount
        FROM charges JOIN tasks ON id = task_id
        UNION ALL SELECT end_user, tags, cost_micros FROM chat_usage) AS spent GROUP BY 1, 2`,
    );
    ledger = rows as LedgerRow[];
    await expectAgreement();
    await all.rollUp();
    await expectAgreement();
  });

  it('is of this account alone, and goes with its days', async () => {
    const span = { from: new Date(Date.now() - 2 * DAY_MS), to: new Date(Date.now() + DAY_MS), currency: 'USD' };
    expect(await usage.read('acct_other', { kind: 'end_user', ...span })).toEqual([]);
    await all.removeBefore('day', new Date(Date.now() + DAY_MS), 1_000);
    const { rows } = await room.sql('SELECT 1 FROM labeled_usage');
    expect(rows).toEqual([]);
  });
});
