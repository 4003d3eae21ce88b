import { tmpdir } from 'node:os';
import { AuditLog } from '#accounts/audit-log.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { ChargeRepository } from '#billing/charge.repository.js';
import { ChatUsageRepository } from '#billing/chat-usage.repository.js';
import { UsageRepository } from '#billing/usage.repository.js';
import { DiskStore } from '#storage/disk-store.js';
import { ExpireObjects } from '#tasks/expire-objects.js';
import { FailedTasks } from '#tasks/failed-tasks.js';
import { TaskFigures } from '#tasks/task-figures.js';
import { readingsOf } from '../support/statements.js';
import { command, openTaskRoom, TEST_ACCOUNT, TEST_KEY, type TaskRoom } from '../support/task-room.js';

const TASKS = 200_000;
/** A statement that goes by an index reads a few; one that goes through the history, some ten thousand. */
const MOST_PAGES = 1_500;
/** Tables whose rows grow with the history. */
const LARGE = ['tasks', 'charges', 'chat_usage', 'audit_log', 'usage_rollups'];

/** Every statement that runs again and again, against a week of work: no clock, what it reads is counted. */
describe('a history of 200,000 tasks', () => {
  let room: TaskRoom;
  let figures: TaskFigures;
  beforeAll(async () => {
    room = await openTaskRoom();
    figures = new TaskFigures(room.database);
    const { id } = await room.store.insert(command(), 900_000);
    const { rows } = await room.sql(
      `SELECT quote_ident(column_name) AS name FROM information_schema.columns WHERE table_name = 'tasks'`,
    );
    const own: Record<string, string> = {
      id: `'task_' || lpad(n::text, 26, '0')`,
      status: `CASE WHEN n % 50000 = 0 THEN 'cancelled' WHEN n % 20000 = 1 THEN 'failed' ELSE 'completed' END`,
      phase: `'done'`,
      created_at: `now() - n * interval '3 seconds'`,
      started_at: `now() - n * interval '3 seconds'`,
      finished_at: `now() - n * interval '3 seconds' + interval '1 second'`,
      images: `'[]'::jsonb`,
      provider: `'sandbox'`,
      progress: '100',
      objects_deleted_at: `CASE WHEN n > 28000 THEN now() END`,
    };
    const names = (rows as { name: string }[]).map(({ name }) => name);
    // They would leave as many rows to be added up; what they lead to is inserted below.
    await room.sql('ALTER TABLE tasks DISABLE TRIGGER tasks_usage_at_once');
    await room.sql('ALTER TABLE chat_usage DISABLE TRIGGER chats_count');
    await room.sql(
      `INSERT INTO tasks (${names.join()}) SELECT ${names.map((name) => own[name] ?? `t.${name}`).join()}
        FROM tasks t, generate_series(1, ${TASKS}) n WHERE t.id = $1`,
      [id],
    );
    await room.sql('ALTER TABLE tasks ENABLE TRIGGER tasks_usage_at_once');
    for (const rows of [
      `charges SELECT 'task_7' || lpad(n::text, 25, '0'), 'settle', 1, 'USD', $1, $2, 'm', now() - n * interval '3 seconds'`,
      `chat_usage SELECT 'req_' || n, $1, $2, 'm', 'p', NULL, 'm', true, 200, 'completed', 1, 1, 0, 1, 1, now() - n * interval '3 seconds', 1`,
      `audit_log SELECT 'audit_7' || n, $1, NULL, $2, NULL, '{}', now()`,
      `usage_rollups SELECT $1, (ARRAY['hour', 'day'])[n % 2 + 1], date_trunc('hour', now()) - n % 2000 * interval '1 hour', 'image',
        $2 || n / 2000, 'm', 'p', 'completed', 'USD', 50, 1, 1, 1, 0, 0, 5000`,
      `usage_changes SELECT -n, 't', 'image', $1, $2, 'm', 'p', 'completed', 'USD', now(), 1, 1, 0, 0, 5000`,
    ]) {
      const most = rows.startsWith('usage_changes') ? 50 : rows.startsWith('usage_rollups') ? TASKS / 10 : TASKS;
      await room.sql(`INSERT INTO ${rows} FROM generate_series(1, ${most}) n`, [TEST_ACCOUNT, TEST_KEY]);
    }
    await room.sql('VACUUM ANALYZE');
  }, 180_000);
  afterAll(() => room.close());

  const list = (query: object) => () => room.store.list(TEST_ACCOUNT, { limit: 20, ...query });
  const day = (): Date => new Date(Date.now() - 24 * 3_600_000);
  const ask = { to: new Date(), currency: 'USD', group: 'key' } as const;
  const since = (days: number): Date => new Date(Date.now() - days * 24 * 3_600_000);
  const usage = () => new UsageRepository(room.database);
  const budgets = () => new BudgetRepository(room.database);
  const expiry = () => new ExpireObjects(room.database, new DiskStore(tmpdir()), room.logger);

  it.each<[string, () => Promise<unknown>]>([
    ['the newest tasks', list({})],
    ['O5: cancelled tasks', list({ status: 'cancelled' })],
    ['O5: pending tasks', list({ status: 'pending' })],
    ['O5: failed tasks', list({ status: 'failed' })],
    ['O5: tasks of a key', list({ apiKeyId: TEST_KEY })],
    ['tasks since yesterday', () => room.store.list(TEST_ACCOUNT, { limit: 20, since: day() })],
    ['tasks after one of long ago', list({ after: `task_${'150000'.padStart(26, '0')}` })],
    [
      'O4: retention of objects, when nothing is due',
      () => expiry().run({ imageRetentionHours: 24, taskRetentionHours: 720 }),
    ],
    ['overdue tasks', () => room.newSweep().failOverdue()],
    ['abandoned tasks', () => room.newSweep().requeueAbandoned()],
    ['forgotten tasks', () => room.newSweep().enqueueForgotten()],
    ['callers of processes that are gone', () => room.lostCallers.markAll()],
    ['the queue', () => figures.queue()],
    ['tasks in flight', () => figures.inFlightByAccount()],
    ['the last hour by minute', () => figures.finishedByMinute()],
    ['the last hour by provider', () => figures.providers()],
    ['the latest service times', () => figures.serviceTimes()],
    ['O6: usage of 30 days', () => usage().read(TEST_ACCOUNT, { ...ask, by: 'day', from: since(30) })],
    ['O6: usage of a day by hour', () => usage().read(TEST_ACCOUNT, { ...ask, by: 'hour', from: since(1) })],
    ['O6: what keys have spent', () => budgets().spentByKey(TEST_ACCOUNT, 'USD')],
    ['O6: what accounts have spent', () => budgets().spentThisMonth([TEST_ACCOUNT], 'USD')],
    ['O6: retention of charges', () => new ChargeRepository(room.database).removeBefore(since(400), 1_000)],
    ['retention of usage by hour', () => usage().removeBefore('hour', since(400), 1_000)],
    ['retention of chats', () => new ChatUsageRepository(room.database).removeBefore(since(400), 1_000)],
    ['O6: retention of the audit log', () => new AuditLog(room.database).expire({ auditLogRetentionDays: 400 })],
    ['the audit log', () => new AuditLog(room.database).list(TEST_ACCOUNT, { limit: 50 })],
    ['what is to be added up', () => usage().rollUp()],
    ['failures of a day', () => new FailedTasks(room.database).groups(day())],
  ])('is not read through for %s', async (_name, work) => {
    const readings = await readingsOf(room.database.pool, work);
    expect(readings.length).toBeGreaterThan(0);
    for (const { text, pages, scanned } of readings) {
      expect([text, scanned.filter((table) => LARGE.includes(table))]).toEqual([text, []]);
      expect([text, Math.max(pages, MOST_PAGES)]).toEqual([text, MOST_PAGES]);
    }
  });
});
