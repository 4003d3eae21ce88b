import { loadConfig } from '#config/load-config.js';
import { DatabaseConfig } from '#database/database.config.js';
import { PrismaService } from '#database/prisma.service.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { WebhooksConfig } from '#webhooks/webhooks.config.js';
import { fillHistory } from '../../bench/history/fill.mjs';
import { recurring, type RecurringWork } from '../../bench/history/recurring.mjs';
import { StatementWatch } from '../../bench/history/watch.mjs';
import { openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const TASKS = 60_000;
/** A statement that goes by an index reads a few; one that goes through the history, some ten thousand. */
const MOST_PAGES = 1_500;
/** What changes or removes up to a thousand rows finds each by its key, and writes to every index. */
const MOST_PAGES_OF_A_BATCH = 9_000;
/** Smaller tables are rightly read through, at this size. */
const LARGE = ['tasks', 'charges'];
/** Its answer is as long as what it reads: an hour of a key each. */
const LONG_ANSWER = 'billing/UsageRepository.read: 31 days by hour and key';

/** Every statement that runs again and again, against a week of work: no clock, what it reads is counted. */
describe(`a history of ${TASKS} tasks`, () => {
  let room: TaskRoom;
  let database: PrismaService;
  let watch: StatementWatch;
  let works: RecurringWork[];
  beforeAll(async () => {
    room = await openTaskRoom();
    const client = await room.database.pool.connect();
    await fillHistory(client, { tasks: TASKS, keys: 20 });
    client.release();
    const [config, webhooksConfig, secretsConfig] = loadConfig([DatabaseConfig, WebhooksConfig, SecretsConfig], {
      DATABASE_URL: room.databaseUrl,
      DATABASE_POOL: '1',
      SECRET_KEY: 'a test that reads little'.padEnd(64, '.'),
    });
    database = new PrismaService(config, room.logger);
    watch = new StatementWatch(database.pool);
    const history = { tasks: TASKS, accountId: TEST_ACCOUNT };
    works = await recurring(database, { ...room, webhooksConfig, secretsConfig }, history);
  }, 180_000);
  afterAll(async () => {
    await database.close();
    await room.close();
  });

  it('is not read through for anything that recurs', async () => {
    const through: unknown[] = [];
    for (const [name, run] of works) {
      const readings = await watch.readings(() => run(0));
      for (const { text, pages, nodes } of readings) {
        const scanned = nodes.flatMap(({ node, table = '' }) => (node === 'Seq Scan' ? [table] : []));
        const most = /^(DELETE|UPDATE)/.test(text) ? MOST_PAGES_OF_A_BATCH : MOST_PAGES;
        const isLarge = scanned.some((table) => LARGE.includes(table));
        if (isLarge || (pages > most && name !== LONG_ANSWER))
          through.push({ name, text: text.slice(0, 400), pages, scanned });
      }
    }
    expect(through).toEqual([]);
    expect(works.length).toBeGreaterThan(100);
  }, 60_000);
});
