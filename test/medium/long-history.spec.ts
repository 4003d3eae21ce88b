import { tmpdir } from 'node:os';
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
const LARGE = ['tasks'];

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
    await room.sql(
      `INSERT INTO tasks (${names.join()}) SELECT ${names.map((name) => own[name] ?? `t.${name}`).join()}
        FROM tasks t, generate_series(1, ${TASKS}) n WHERE t.id = $1`,
      [id],
    );
    await room.sql('VACUUM ANALYZE tasks');
  }, 180_000);
  afterAll(() => room.close());

  const list = (query: object) => () => room.store.list(TEST_ACCOUNT, { limit: 20, ...query });
  const day = (): Date => new Date(Date.now() - 24 * 3_600_000);
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
