import pg from 'pg';
import { PrismaService } from '#database/prisma.service.js';
import { SEARCH_BOUNDS, SearchTasks, type TaskSearch } from '#tasks/reading/search-tasks.js';
import { allTasksOf } from '#tasks/row/task.js';
import { facetCounts } from '#tasks/row/task-facets.sql.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const ROWS = 50_000;
const BOUND = SEARCH_BOUNDS.tasks;
/** Rows of one statement, which has to end within the pool's time limit on any machine. */
const SLICE = 5_000;
const DEADLINE_MS = 900_000;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly Plans?: readonly PlanNode[];
}

interface Asked {
  readonly text: string;
  readonly values: unknown[];
}

/** On an account with 50,000 tasks: task n is n seconds old. Another account has as many. */
describe('searching tasks for words', () => {
  let room: TaskRoom;
  const asked: Asked[] = [];
  let searches: SearchTasks;
  let recorded: PrismaService;
  const search = (text: string, more: Partial<TaskSearch> = {}) =>
    searches.search(allTasksOf(TEST_ACCOUNT), { text, limit: 30, ...more });

  beforeAll(async () => {
    room = await openTaskRoom();
    // Without the product's limit on the time of a statement.
    const writer = new pg.Client({ connectionString: room.databaseUrl });
    await writer.connect();
    // One moment for all slices, so that their order is that of their numbers however slowly they are written.
    const { now } = (await room.sql('SELECT now()')).rows[0] as { now: Date };
    for (let from = 1; from <= ROWS; from += SLICE) {
      await writer.query(
        `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, status, finished_at, created_at, deadline_at)
       SELECT 'task_' || account || '_' || n, account, 'key_' || n % 2, 'req_' || n, 'generation', 'model-' || n % 3,
         CASE WHEN n IN (5, 30000, 49000) THEN 'A needle, 100% sharp_' ELSE 'hay ' || repeat('stack ', 20) END,
         '{}', CASE WHEN n % 5 = 0 THEN 'failed' ELSE 'completed' END, $4::timestamptz, $4::timestamptz - n * interval '1 second', $4::timestamptz
       FROM generate_series($1::int, $2::int) AS n, unnest($3::text[]) AS account`,
        [from, from + SLICE - 1, [TEST_ACCOUNT, 'acct_other'], now],
      );
    }
    await writer.query('ANALYZE tasks');
    await writer.end();
    const config = { databaseUrl: room.databaseUrl, databasePool: 1, connectTimeoutMs: 60_000, queryTimeoutMs: 60_000 };
    recorded = new PrismaService(config, room.logger);
    const ask = recorded.pool.query.bind(recorded.pool) as (asking: string | Asked, values: unknown[]) => unknown;
    // Its own statements and Prisma's: the one are texts, the others objects.
    const query = (asking: string | Asked, values: unknown[]): unknown => {
      asked.push(typeof asking === 'string' ? { text: asking, values } : asking);
      return ask(asking, values);
    };
    Object.assign(recorded.pool, { query });
    // What bounds it here is the number of tasks, not how fast this machine is.
    searches = new SearchTasks(recorded, { ...SEARCH_BOUNDS, ms: 600_000 });
  });
  afterAll(async () => {
    await recorded.close();
    await room.close();
  });
  beforeEach(() => {
    asked.length = 0;
  });

  /** The scans of everything that was asked, carried out once more. */
  async function scans(): Promise<PlanNode[]> {
    const found: PlanNode[] = [];
    const walk = (node: PlanNode): void => {
      if (node['Node Type'].includes('Scan') && node['Node Type'] !== 'Subquery Scan') found.push(node);
      node.Plans?.forEach(walk);
    };
    for (const { text, values } of asked) {
      const { rows } = await room.sql(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
      walk((rows[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN'][0].Plan);
    }
    return found;
  }

  it('goes back so many tasks at most, along the index, and goes on from there', async () => {
    const first = await search('NEEDLE');
    expect(first).toMatchObject({ ids: [`task_${TEST_ACCOUNT}_5`], isCutShort: true });
    expect(first.next?.id).toBe(`task_${TEST_ACCOUNT}_${BOUND}`);
    const looked = await scans();
    expect(looked.map((node) => node['Index Name'])).toEqual(looked.map(() => 'tasks_account_id_created_at_id_idx'));
    expect(looked.reduce((sum, node) => sum + node['Actual Rows'], 0)).toBe(BOUND);
    const second = await search('NEEDLE', { after: first.next });
    expect(second).toMatchObject({ ids: [`task_${TEST_ACCOUNT}_30000`], isCutShort: true });
    const third = await search('NEEDLE', { after: second.next });
    expect(third).toEqual({ ids: [`task_${TEST_ACCOUNT}_49000`], next: undefined, isCutShort: false });
  });

  it('stops as soon as it has found enough', async () => {
    const found = await search('stack', { limit: 30 });
    expect(found.ids).toHaveLength(30);
    expect(found).toMatchObject({ isCutShort: false, next: { id: found.ids[29] } });
    expect(asked).toHaveLength(1);
    const after = await search('stack', { limit: 30, after: found.next });
    expect(after.ids[0]).toBe(`task_${TEST_ACCOUNT}_32`);
  });

  it('begins no further statement when its time is over', async () => {
    const hurried = new SearchTasks(room.database, { tasks: BOUND, ms: 0 });
    const found = await hurried.search(allTasksOf(TEST_ACCOUNT), { text: 'nowhere', limit: 30 });
    expect(found).toMatchObject({ ids: [], isCutShort: true, next: { id: `task_${TEST_ACCOUNT}_2000` } });
  });

  it('takes the signs of patterns for what they are', async () => {
    expect((await search('100% sharp_')).ids).toHaveLength(1);
    for (const text of ['%', '_', 'needle%', 'n_edle', String.raw`\%`]) {
      const { ids } = await search(text);
      expect([text, ids.length]).toEqual([text, text === '%' || text === '_' ? 1 : 0]);
    }
  });

  it('combines with the other filters', async () => {
    expect((await search('needle', { status: 'failed', apiKeyId: 'key_1', model: 'model-2' })).ids).toHaveLength(1);
    for (const other of [{ status: 'completed' }, { apiKeyId: 'key_0' }, { model: 'model-1' }] as const)
      expect((await search('needle', other)).ids).toEqual([]);
    const since = new Date(Date.now() - 3_600_000);
    expect(await search('needle', { since })).toMatchObject({ ids: [expect.any(String)], next: undefined });
  });

  it('examines failed tasks alone for an error, along their index', async () => {
    const found = await search('', { error: 'internal_error', limit: 100 });
    expect(found.ids).toHaveLength(100);
    expect(found.ids[1]).toBe(`task_${TEST_ACCOUNT}_10`);
    expect(await search('', { error: 'upstream_error' })).toEqual({ ids: [], next: undefined, isCutShort: false });
    const looked = await scans();
    // A bitmap scan has its index in the node below.
    expect(looked.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    const indexes = new Set(looked.flatMap((node) => node['Index Name'] ?? []));
    expect([...indexes]).toEqual(['tasks_account_id_status_idx']);
  });

  it('counts by provider and error among the newest tasks, along an index each', async () => {
    const labels = { endUser: null, tag: null };
    const times = { since: null, until: null };
    const filter = { accountId: TEST_ACCOUNT, status: null, model: null, apiKeyId: null, ...times, ...labels };
    const failed = { provider: null, error: 'internal_error', count: 1_000 };
    const all = await facetCounts(recorded.pool, filter, undefined);
    expect(all).toEqual({
      counts: expect.arrayContaining([failed, { provider: null, error: null, count: 4_000 }]) as unknown,
      hasMore: true,
    });
    expect((await scans()).map((node) => node['Index Name']).filter(Boolean)).toEqual([
      'tasks_account_id_created_at_id_idx',
    ]);
    asked.length = 0;
    const ofFailed = await facetCounts(recorded.pool, { ...filter, status: 'failed' }, undefined);
    expect(ofFailed).toEqual({ counts: [{ ...failed, count: 5_000 }], hasMore: true });
    expect((await scans()).map((node) => node['Index Name']).filter(Boolean)).toEqual(['tasks_account_id_status_idx']);
    // None of these tasks names its phase as ended, as the indexes of members' tasks require.
    const own = { personId: 'person_x', keyIds: ['key_0', 'key_1'] };
    asked.length = 0;
    expect(await facetCounts(recorded.pool, filter, own)).toEqual({ counts: [], hasMore: false });
    const bounded = (await scans()).filter((node) => node['Index Name'] !== undefined);
    expect(Math.max(...bounded.map((node) => node['Actual Rows']))).toBe(0);
  });

  it('finds a task by its id or its request’s, and never another account’s', async () => {
    const old = command();
    const foreign = command({ accountId: 'acct_other' });
    for (const wanted of [old, foreign]) await room.inserts.insert(wanted, DEADLINE_MS);
    for (const text of [old.id, old.requestId]) {
      expect(await search(text)).toEqual({ ids: [old.id], next: undefined, isCutShort: false });
      expect((await search(text, { status: 'failed' })).ids).toEqual([]);
    }
    for (const text of [foreign.id, foreign.requestId]) expect((await search(text)).ids).toEqual([]);
    const looked = await scans();
    expect(looked.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    expect(Math.max(...looked.map((node) => node['Actual Rows']))).toBeLessThan(200);
  });
});
