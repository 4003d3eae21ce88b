import pg from 'pg';
import { loadConfig } from '#config/load-config.js';
import { DatabaseConfig } from '#database/database.config.js';
import { PrismaService } from '#database/prisma.service.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { FailedTasks } from '#tasks/reading/failed-tasks.js';
import { TaskListStore } from '#tasks/reading/task-list-store.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import { WebhooksConfig } from '#notifications/webhooks.config.js';
import { allTasksOf } from '#tasks/row/task.js';
import { fillHistory } from '../../bench/history/fill.mjs';
import { recurring, type RecurringWork } from '../../bench/history/recurring.mjs';
import { StatementWatch } from '../../bench/history/watch.mjs';
import { CallRecord, tableUsers } from '../support/table-users.js';
import { openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const TASKS = 200_000;
/** A statement that goes by an index reads a few; one that goes through the history, some ten thousand. */
const MAX_PAGES = 1_500;
/** Finds each of up to a thousand rows that are due by its key, and writes to every index. */
const BATCHES: readonly string[] = [
  'tasks/ExpireTasks.run: objects',
  'tasks/ExpireTasks.run: rows',
  'notifications/ExpireWebhooks.run',
  'billing/ChargeRepository.removeBefore',
  'billing/UsageRepository.removeBefore: hours',
  'billing/UsageRepository.removeBefore: days',
  'billing/ChatUsageRepository.removeBefore',
  'accounts/AuditLog.expire',
  'tasks/SweepTasks.failOverdue',
  'tasks/SweepTasks.requeueLost',
  'tasks/SweepTasks.enqueueForgotten',
  'tasks/LostCallers.markAll',
  'notifications/NewDeliveries.resendFailed',
  // Tasks of an end user or with a tag, a thousand at a time, when further filters have to be checked.
  'tasks/TaskListStore.list: failed, of an end user',
  'tasks/TaskListStore.list: of a tag, of a person',
  'tasks/TaskListStore.count: of an end user',
  'tasks/TaskListStore.count: of a tag and a model',
  'tasks/TaskListStore.countByOutcome: of a tag',
];
const MAX_PAGES_OF_A_BATCH = 8_000;
/** Tables whose rows grow with the history, or that have a few thousand open ones. */
const LARGE = [
  ...['tasks', 'charges', 'chat_usage', 'audit_log', 'usage_rollups', 'grouped_usage', 'webhook_deliveries'],
  ...['webhook_attempts', 'idempotency_keys', 'uploads', 'sessions', 'alert_events', 'task_labels', 'labeled_usage'],
];

/** Every statement that runs again and again, against a week of work: no clock, what it reads is counted. */
describe(`a history of ${TASKS} tasks`, () => {
  let room: TaskRoom;
  let database: PrismaService;
  let watch: StatementWatch;
  let works: RecurringWork[];
  const done = new Set<string>();
  const calls = new CallRecord();
  beforeAll(async () => {
    room = await openTaskRoom();
    // A connection without the product's time limit: each statement of a fixture may take as long as the machine needs.
    const client = new pg.Client({ connectionString: room.databaseUrl });
    await client.connect();
    await fillHistory(client, { tasks: TASKS, keys: 20 }).finally(() => client.end());
    const [config, webhooksConfig, secretsConfig] = loadConfig([DatabaseConfig, WebhooksConfig, SecretsConfig], {
      DATABASE_URL: room.databaseUrl,
      DATABASE_POOL: '1',
      DATABASE_CONNECT_TIMEOUT_MS: '15000',
      DATABASE_QUERY_TIMEOUT_MS: '15000',
      SECRET_KEY: 'a test that reads little'.padEnd(64, '.'),
    });
    database = new PrismaService(config, room.logger);
    watch = new StatementWatch(database.pool);
    const history = { tasks: TASKS, accountId: TEST_ACCOUNT };
    await calls.begin();
    works = await recurring(database, { ...room, webhooksConfig, secretsConfig }, history);
  });
  afterAll(async () => {
    await database.close();
    await room.close();
  });

  it.each<[string, RegExp]>([
    ['O5: lists and searches of tasks', /^tasks\/(TaskListStore|SearchTasks)/],
    ['O6: usage, figures and logs, and their retention', /^(billing|accounts)\/|^tasks\/(TaskFigures|FailedTasks)/],
    ['O4: retention of tasks and their objects', /^tasks\/ExpireTasks/],
    ['anything else that recurs', /./],
  ])('is not read through for %s', async (_what, names) => {
    const own = works.filter(([name]) => names.test(name) && !done.has(name));
    expect(own.length).toBeGreaterThan(4);
    const through: unknown[] = [];
    for (const [name, run] of own) {
      done.add(name);
      const most = BATCHES.includes(name) ? MAX_PAGES_OF_A_BATCH : MAX_PAGES;
      const readings = await watch.readings(() => run(0));
      if (readings.length === 0) through.push({ name, text: 'no statement at all' });
      for (const { text, pages, nodes } of readings) {
        const scanned = nodes.flatMap(({ node, table = '' }) => (node === 'Seq Scan' ? [table] : []));
        const isThrough = pages > most || scanned.some((table) => LARGE.includes(table));
        if (isThrough) through.push({ name, text: text.slice(0, 400), pages, scanned });
      }
    }
    expect(through).toEqual([]);
  });

  it('is counted as far as that is cheap, and put in an order by figures only where that is known to be', async () => {
    const tasks = new TaskListStore(database, new TaskStore(database));
    expect(await tasks.count(allTasksOf(TEST_ACCOUNT), {})).toEqual({
      count: 10_000,
      hasMore: true,
      isRankable: false,
    });
    expect(await tasks.count(allTasksOf(TEST_ACCOUNT), { apiKeyId: 'key_1' })).toMatchObject({
      hasMore: true,
      isRankable: false,
    });
    const few = { apiKeyId: 'key_rare1' };
    const { tasks: all } = await tasks.list(allTasksOf(TEST_ACCOUNT), { ...few, limit: 100 });
    expect(await tasks.count(allTasksOf(TEST_ACCOUNT), few)).toEqual({
      count: all.length,
      hasMore: false,
      isRankable: true,
    });
    await expect(tasks.list(allTasksOf(TEST_ACCOUNT), { limit: 20, order: 'longest' })).rejects.toMatchObject({
      code: 'invalid_value',
      param: 'order',
    });
  });

  it('has its newest failures counted by kind, as many as is cheap, and says that there are more', async () => {
    const failed = new FailedTasks(database);
    const since = new Date(0);
    const all = await failed.groups(since);
    const sum = (groups: readonly { readonly count: number }[]) =>
      groups.reduce((total, { count }) => total + count, 0);
    const { rows } = await database.pool.query<{ count: number }>(
      `SELECT count(*)::int FROM tasks WHERE status = 'failed' AND deleted_at IS NULL`,
    );
    expect([sum(all.groups), all.hasMore]).toEqual([rows[0]!.count, false]);
    const few = await failed.groups(since, 100);
    expect([sum(few.groups), few.hasMore]).toEqual([100, true]);
    expect(few.groups[0]).toMatchObject({ latestAt: all.groups[0]!.latestAt });
  });

  it('was asked for all of it', () => {
    const names = works.map(([name]) => name);
    expect(names).toEqual(expect.arrayContaining(BATCHES));
    expect([...done].sort()).toEqual(names.sort());
    expect(names.length).toBeGreaterThan(100);
  });

  it('was asked by everything that reads or writes its tables', async () => {
    const users = tableUsers();
    expect(users.length).toBeGreaterThan(100);
    expect(await calls.mistakes(users)).toEqual({ unmeasured: [], exemptForNothing: [] });
  });
});
