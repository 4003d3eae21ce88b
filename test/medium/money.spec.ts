import { randomBytes } from 'node:crypto';
import { PrismaService } from '#database/prisma.service.js';
import { refusalOf } from '#billing/budget-refusal.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { remainingOf } from '#billing/budgets.js';
import { ChatReserves } from '#billing/chat-reserves.js';
import type { TaskCost } from '#billing/quote.js';
import { RetractTasks } from '#tasks/intake/retract-tasks.js';
import type { TaskIntake } from '#tasks/intake/task-intake.js';
import { insertTasks } from '#tasks/row/insert-task.sql.js';
import { allTasksOf, taskError, type TaskCommand } from '#tasks/row/task.js';
import { AppError } from '#contract/app-error.js';
import type { ImageUsage } from '#contract/image-usage.js';
import { waitUntil } from '#embedded/wait-until.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { openPrisma } from '../support/open-prisma.js';
import { patientSetting } from '../support/patience.js';
import { retried } from '../support/retried.js';
import { command, newIntake, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;
const COST: TaskCost = { reserved: 40_000, currency: 'USD' };
const BY_TOKENS: TaskCost = { ...COST, tokens: { input: 5_000_000, output: 30_000_000 } };
const UNKNOWN: TaskCost = { reserved: null, currency: 'USD' };
const IMAGE = { key: 'results/x', contentType: 'image/png', width: 1, height: 1, bytes: 1, sha256: 'ab' };
const usage = (input: number, output: number) => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: input + output,
});

/** Two intakes on pools of their own, like two processes. */
describe('money', () => {
  let room: TaskRoom;
  let other: PrismaService;
  let budgets: BudgetRepository;
  let intakes: [TaskIntake, TaskIntake];
  let count = 0;
  beforeAll(async () => {
    room = await openTaskRoom();
    const config = {
      databaseUrl: room.databaseUrl,
      databasePool: 10,
      connectTimeoutMs: 60_000,
      queryTimeoutMs: 60_000,
    };
    other = new PrismaService(config, room.logger);
    budgets = new BudgetRepository(room.database);
    intakes = [
      newIntake(room.database, room.tasksConfig, room.lostCallers).intake,
      newIntake(other, room.tasksConfig, room.lostCallers).intake,
    ];
  });
  afterAll(async () => {
    await other.close();
    await room.close();
  });

  const keyId = (): string => `key_money_${++count}`;
  const take = (changes: Partial<TaskCommand>, identity?: Parameters<TaskIntake['take']>[2]) => {
    const intake = intakes[count++ % 2 === 0 ? 0 : 1];
    const order = command({ cost: COST, ...changes });
    return retried(() => intake.take(order, DEADLINE_MS, identity));
  };
  const budgetOf = async (ownerId: string) => (await budgets.find([ownerId]))[0];
  const keyBudget = (ownerId: string, limit: number, period: 'month' | 'total' = 'total') =>
    budgets.set({ ownerId, owner: 'key' }, { limit, period });

  async function reservedLastMonth(condition: string, value: unknown): Promise<void> {
    for (const column of ['charges.created_at', 'task_reserves.reserved_at']) {
      const [table, name] = column.split('.');
      await room.sql(`UPDATE ${table} SET ${name} = ${name} - interval '1 month' WHERE ${condition}`, [value]);
    }
  }

  async function ledger(id: string): Promise<Record<string, number | null>> {
    const { rows } = await room.sql('SELECT kind, amount_micros::float8 AS amount FROM charges WHERE task_id = $1', [
      id,
    ]);
    return Object.fromEntries((rows as { kind: string; amount: number }[]).map(({ kind, amount }) => [kind, amount]));
  }

  async function completed(id: string, tokens?: ImageUsage, delivered = 1): Promise<void> {
    const images = Array.from({ length: delivered }, () => IMAGE);
    const claimed = await room.transitions.claim(id, 'worker', 20_000);
    const lease = { id, attempt: claimed?.attempt ?? 0 };
    expect(await room.transitions.complete(lease, { images, usage: tokens, warnings: [] })).toBeDefined();
  }

  it('of several images is reserved for all of them, and settled for those that are delivered', async () => {
    const apiKeyId = keyId();
    await keyBudget(apiKeyId, 1_000_000);
    const three = { ...COST, reserved: 120_000, n: 3 };
    const byTokens = { ...BY_TOKENS, reserved: 120_000, n: 3 };
    const ended = async (cost: TaskCost, delivered: number, tokens?: ReturnType<typeof usage>) => {
      const { task } = await take({ apiKeyId, cost });
      await completed(task.id, tokens, delivered);
      return await ledger(task.id);
    };
    expect(await ended(three, 3)).toEqual({ reserve: 120_000, settle: 120_000 });
    expect(await ended(three, 1)).toEqual({ reserve: 120_000, settle: 40_000, refund: 80_000 });
    expect(await ended(byTokens, 2)).toEqual({ reserve: 120_000, settle: 80_000, refund: 40_000 });
    expect(await ended(byTokens, 2, usage(0, 2_000))).toEqual({ reserve: 120_000, settle: 60_000, refund: 60_000 });
    expect(await ended(byTokens, 2, usage(0, 9_000))).toEqual({ reserve: 120_000, settle: 80_000, refund: 40_000 });
    expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 120_000 + 40_000 + 80_000 + 60_000 + 80_000 });
  });

  it('is reserved with the task and settled with its end', async () => {
    const apiKeyId = keyId();
    await keyBudget(apiKeyId, 100_000);
    const { task } = await take({ apiKeyId });
    expect(await ledger(task.id)).toEqual({ reserve: 40_000 });
    expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 40_000, limit: 100_000 });
    await completed(task.id);
    expect(await ledger(task.id)).toEqual({ reserve: 40_000, settle: 40_000 });
    expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 40_000 });
    expect((await room.store.find(allTasksOf(TEST_ACCOUNT), task.id))?.cost).toEqual({ ...COST, settled: 40_000 });
  });

  it.each([
    ['fewer tokens than were reserved', BY_TOKENS, usage(100, 1_000), { settle: 30_500, refund: 9_500 }],
    ['tokens that round up', BY_TOKENS, usage(1, 0), { settle: 5, refund: 39_995 }],
    ['more tokens than were reserved', BY_TOKENS, usage(100, 1_000_000), { settle: 40_000 }],
    ['more tokens than there are', BY_TOKENS, usage(Number.MAX_SAFE_INTEGER, 0), { settle: 40_000 }],
    ['tokens that nobody counted', BY_TOKENS, undefined, { settle: 40_000 }],
    ['tokens that cost nothing by themselves', COST, usage(100, 1_000), { settle: 40_000 }],
  ])('is what the measured tokens cost, and never more than was reserved: %s', async (_name, cost, tokens, rest) => {
    const apiKeyId = keyId();
    await keyBudget(apiKeyId, 100_000);
    const { task } = await take({ apiKeyId, cost });
    await completed(task.id, tokens);
    expect(await ledger(task.id)).toEqual({ reserve: 40_000, ...rest });
    expect(await budgetOf(apiKeyId)).toMatchObject({ spent: rest.settle });
  });

  const IMAGES_AND_CACHE = {
    ...usage(1_000, 2_000),
    input_tokens_details: { text_tokens: 300, image_tokens: 700, cached_tokens: 500 },
    output_tokens_details: { text_tokens: 400, image_tokens: 1_600 },
    svg_usage: { input_tokens: 10, output_tokens: 20, total_tokens: 30 },
  };
  const costs = (costs: Record<string, [number, number]>) =>
    Object.fromEntries(Object.entries(costs).map(([name, [tokens, amount]]) => [name, { tokens, amount }]));

  it.each([
    [
      'that have no price cost what those next to them do, and none is cheaper for the cache',
      { input: 5_000_000, output: 30_000_000 },
      costs({
        ...{ cached_input: [300, 1_500], image_input: [500, 2_500], cached_image_input: [200, 1_000] },
        ...{ output: [1_600, 48_000], text_output: [400, 12_000], svg_input: [10, 300], svg_output: [20, 600] },
      }),
    ],
    [
      'of images cost as much from the cache as otherwise, where only text is cheaper from there',
      { input: 5_000_000, cached_input: 1_000_000, image_input: 8_000_000, output: 30_000_000 },
      costs({
        ...{ input: [300, 1_500], image_input: [200, 1_600], cached_image_input: [500, 4_000] },
        ...{ output: [1_600, 48_000], text_output: [400, 12_000], svg_input: [10, 300], svg_output: [20, 600] },
      }),
    ],
    [
      'are cached where it makes the least difference',
      {
        ...{ input: 5_000_000, cached_input: 1_000_000, image_input: 8_000_000, cached_image_input: 2_000_000 },
        ...{ output: 30_000_000, text_output: 10_000_000, svg_output: 15_000_000 },
      },
      costs({
        ...{ cached_input: [300, 300], image_input: [500, 4_000], cached_image_input: [200, 400] },
        ...{ output: [1_600, 48_000], text_output: [400, 4_000], svg_input: [10, 150], svg_output: [20, 300] },
      }),
    ],
  ])('of tokens is known by class, and adds up: tokens %s', async (_name, tokens, expected) => {
    const { task } = await take({ cost: { reserved: 1_000_000, currency: 'USD', tokens } });
    await completed(task.id, IMAGES_AND_CACHE);
    const { rows } = await room.sql(
      `SELECT kind, amount_micros::int AS amount, token_costs FROM charges WHERE task_id = $1 ORDER BY kind DESC`,
      [task.id],
    );
    const settled = Object.values(expected).reduce((sum, { amount }) => sum + amount, 0);
    expect(rows).toEqual([
      { kind: 'settle', amount: settled, token_costs: expected },
      { kind: 'reserve', amount: 1_000_000, token_costs: null },
      { kind: 'refund', amount: 1_000_000 - settled, token_costs: null },
    ]);
    const found = await room.store.find(allTasksOf(TEST_ACCOUNT), task.id);
    expect(found?.cost).toMatchObject({ settled, tokenCosts: expected });
  });

  it('without a maximum is known when its tokens are counted, counts for a budget set meanwhile, and is refused to one', async () => {
    const apiKeyId = keyId();
    const { reserved: _none, ...rest } = BY_TOKENS;
    const cost: TaskCost = { reserved: null, ...rest };
    const [counted, uncounted] = [(await take({ apiKeyId, cost })).task, (await take({ apiKeyId, cost })).task];
    await keyBudget(apiKeyId, 100_000);
    await completed(counted.id, usage(100, 1_000));
    expect(await ledger(counted.id)).toEqual({ reserve: null, settle: 30_500 });
    expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 30_500 });
    await completed(uncounted.id);
    expect(await ledger(uncounted.id)).toEqual({ reserve: null, settle: null });
    expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 30_500 });
    await keyBudget(apiKeyId, 200_000);
    expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 30_500 });
    await expect(take({ apiKeyId, cost })).rejects.toMatchObject({ code: 'model_not_allowed', status: 403 });
  });

  it('is given back when the task fails, is cancelled, or ends at its deadline', async () => {
    const apiKeyId = keyId();
    await keyBudget(apiKeyId, 120_000);
    const tasks = await Promise.all([1, 2, 3].map(() => take({ apiKeyId })));
    const [failed = '', cancelled = '', late = ''] = tasks.map(({ task }) => task.id);
    expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 120_000 });
    const claimed = await room.transitions.claim(failed, 'worker', 20_000);
    const error = taskError(new AppError('upstream_error', 'no'));
    expect(await room.transitions.fail({ id: failed, attempt: claimed?.attempt ?? 0 }, error)).toBe(true);
    await room.transitions.claim(cancelled, 'worker', 20_000);
    await room.store.cancel(allTasksOf(TEST_ACCOUNT), cancelled);
    await room.sql(`UPDATE tasks SET deadline_at = now() - interval '1 s' WHERE id = $1`, [late]);
    expect(await room.newSweep().failOverdue()).toBe(1);
    for (const id of [failed, cancelled, late]) {
      expect(await ledger(id)).toEqual({ reserve: 40_000, refund: 40_000 });
      expect((await room.store.find(allTasksOf(TEST_ACCOUNT), id))?.cost).toMatchObject({ settled: 0 });
    }
    expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 0 });
  });

  const [PAID, FREE] = [false, true].map((free) => ({ provider: 'p', key: '', model: 'm', free }));
  const ended = (charged: 'no' | 'maybe') => ({ outcome: 'failed', charged }) as const;
  const SHARED: TaskCost = { ...COST, cancelled: 0.2501 };

  it.each([
    ['nobody was called', COST, undefined, undefined, { refund: 40_000 }],
    ['a provider that charges is at work', COST, PAID, undefined, { settle: 40_000 }],
    ['it is paid by tokens that nobody counted', BY_TOKENS, PAID, undefined, { settle: 40_000 }],
    ['a provider may have charged before', COST, PAID, ended('maybe'), { settle: 40_000 }],
    ['a provider has failed without a charge', COST, PAID, ended('no'), { refund: 40_000 }],
    ['a free provider is at work', COST, FREE, undefined, { refund: 40_000 }],
    ['its price names a share', SHARED, PAID, undefined, { settle: 10_004, refund: 29_996 }],
    ['its price names a share for a free provider', SHARED, FREE, undefined, { settle: 10_004, refund: 29_996 }],
    ['its price names a share, and nobody was called', SHARED, undefined, undefined, { refund: 40_000 }],
    ['its price forgives it', { ...COST, cancelled: 0 }, PAID, undefined, { refund: 40_000 }],
  ])('H5: that a cancel settles is what may have been charged: %s', async (_name, cost, call, end, rest) => {
    const apiKeyId = keyId();
    await keyBudget(apiKeyId, 100_000);
    const { task } = await take({ apiKeyId, cost });
    const lease = { id: task.id, attempt: (await room.transitions.claim(task.id, 'worker', 20_000))?.attempt ?? 0 };
    if (call !== undefined) expect(await room.transitions.startProvider(lease, call, 3)).toBe(true);
    if (end !== undefined) await room.transitions.release(lease, 0, end);
    const cancelled = await room.store.cancel(allTasksOf(TEST_ACCOUNT), task.id);
    expect(await ledger(task.id)).toEqual({ reserve: 40_000, ...rest });
    const settled = 'settle' in rest ? rest.settle : 0;
    expect(await budgetOf(apiKeyId)).toMatchObject({ spent: settled });
    expect(cancelled?.task.cost).toMatchObject({ settled });
    await room.store.cancel(allTasksOf(TEST_ACCOUNT), task.id);
    expect(await ledger(task.id)).toEqual({ reserve: 40_000, ...rest });
  });

  it('H5: that nobody knows is flagged when a cancel comes after the call, too', async () => {
    const { task } = await take({ cost: UNKNOWN });
    const lease = { id: task.id, attempt: (await room.transitions.claim(task.id, 'worker', 20_000))?.attempt ?? 0 };
    await room.transitions.startProvider(lease, PAID as NonNullable<typeof PAID>, 3);
    await room.store.cancel(allTasksOf(TEST_ACCOUNT), task.id);
    expect(await ledger(task.id)).toEqual({ reserve: null, settle: null });
  });

  it('is given back when the task is taken back, of which nothing else is left', async () => {
    const apiKeyId = keyId();
    await keyBudget(apiKeyId, 40_000);
    const { task } = await take({ apiKeyId });
    const retract = new RetractTasks(room.database, room.queue, room.tasksConfig, room.logger);
    retract.add(task.id);
    expect(await waitUntil(() => Promise.resolve(!retract.has(task.id)), { timeoutMs: 30_000 })).toBe(true);
    expect(await room.store.find(allTasksOf(TEST_ACCOUNT), task.id)).toBeUndefined();
    expect(await ledger(task.id)).toEqual({ reserve: 40_000, refund: 40_000 });
    expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 0 });
  });

  it('is not touched again when an ended task is removed after its time', async () => {
    const { task } = await take({});
    await completed(task.id);
    await room.sql('DELETE FROM tasks WHERE id = $1', [task.id]);
    expect(await ledger(task.id)).toEqual({ reserve: 40_000, settle: 40_000 });
  });

  it.each(['key', 'account'] as const)('holds the budget of one %s against fifty parallel requests', async (owner) => {
    const apiKeyId = keyId();
    const accountId = `acct_${apiKeyId}`;
    const ownerId = owner === 'key' ? apiKeyId : accountId;
    await budgets.set({ ownerId, owner }, { limit: 300_000, period: 'month' });
    const calls = Array.from({ length: 50 }, () =>
      take({ accountId, apiKeyId: owner === 'key' ? apiKeyId : keyId() }).then(
        () => 'taken',
        (error: unknown) => (error as AppError).code,
      ),
    );
    const answers = await Promise.all(calls);
    expect(answers.filter((answer) => answer === 'taken')).toHaveLength(7);
    expect(answers.filter((answer) => answer === 'insufficient_quota')).toHaveLength(43);
    expect(await budgetOf(ownerId)).toMatchObject({ spent: 280_000, limit: 300_000 });
    const { rows } = await room.sql('SELECT count(*)::int AS tasks FROM tasks WHERE account_id = $1', [accountId]);
    expect(rows).toEqual([{ tasks: 7 }]);
    await expect(take({ accountId, apiKeyId })).rejects.toMatchObject({
      status: 402,
      message: `The budget of this ${owner === 'key' ? 'API key' : 'account'} does not cover the request: 0.020000 USD is left this month.`,
    });
  });

  it('is reserved once for fifty parallel repeats of a request, and not at all for one that is refused', async () => {
    const apiKeyId = keyId();
    await keyBudget(apiKeyId, 50_000);
    const identity = { kind: 'keyed', key: `once-${apiKeyId}`, fingerprint: randomBytes(32) } as const;
    const taken = await Promise.all(Array.from({ length: 50 }, () => take({ apiKeyId }, identity)));
    expect(new Set(taken.map(({ task }) => task.id)).size).toBe(1);
    expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 40_000 });
    const refused = { kind: 'keyed', key: `refused-${apiKeyId}`, fingerprint: randomBytes(32) } as const;
    await expect(take({ apiKeyId }, refused)).rejects.toMatchObject({ code: 'insufficient_quota' });
    const retried = { kind: 'unkeyed', retry: 1, counted: true, fingerprint: randomBytes(32) } as const;
    await expect(take({ apiKeyId }, retried)).rejects.toMatchObject({ code: 'insufficient_quota' });
    const { rows } = await room.sql('SELECT kind FROM charges WHERE api_key_id = $1', [apiKeyId]);
    expect(rows).toEqual([{ kind: 'reserve' }]);
    await keyBudget(apiKeyId, 100_000);
    expect((await take({ apiKeyId }, refused)).attached).toBe(false);
  });

  it('waits alone for a budget that its process does not know of yet, and no other task with it', async () => {
    const [busy, free] = [keyId(), keyId()];
    for (const owner of [busy, free]) await keyBudget(owner, 100_000);
    const holder = await other.pool.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM budgets WHERE owner_id = $1 FOR UPDATE', [busy]);
    // Tasks of one moment, so they are sent together.
    const taken = [busy, free].map(async (apiKeyId) => {
      const order = command({ cost: COST, apiKeyId, budgeted: false });
      const { task } = await intakes[0].take(order, DEADLINE_MS, {
        kind: 'keyed',
        key: apiKeyId,
        fingerprint: randomBytes(32),
      });
      return { id: task.id, apiKeyId };
    });
    const spent = async (owner: string) => (await budgetOf(owner))?.spent;
    const together = [free, busy].map((apiKeyId) => ({
      command: command({ cost: COST, apiKeyId }),
      deadlineMs: DEADLINE_MS,
    }));
    try {
      await expect(insertTasks(room.database.pool, together)).rejects.toMatchObject({ code: 'DR409' });
      expect(await waitUntil(async () => (await spent(free)) === 40_000, { timeoutMs: 30_000 })).toBe(true);
      expect(await spent(busy)).toBe(0);
    } finally {
      await holder.query('COMMIT');
      holder.release();
    }
    for (const { id, apiKeyId } of await Promise.all(taken)) {
      expect(await ledger(id)).toEqual({ reserve: 40_000 });
      expect(await spent(apiKeyId)).toBe(40_000);
    }
  });

  it('without a known price is flagged, never zero, and refused where there is a budget', async () => {
    const apiKeyId = keyId();
    const { task } = await take({ apiKeyId, cost: UNKNOWN });
    expect(await ledger(task.id)).toEqual({ reserve: null });
    await completed(task.id);
    expect(await ledger(task.id)).toEqual({ reserve: null, settle: null });
    await keyBudget(apiKeyId, 1_000_000);
    await expect(take({ apiKeyId, cost: UNKNOWN })).rejects.toMatchObject({ code: 'model_not_allowed', status: 403 });
    expect((await take({ apiKeyId, cost: { reserved: 0, currency: 'USD' } })).attached).toBe(false);
    expect((await take({ apiKeyId, cost: null })).task.cost).toBeNull();
  });

  it('counts what was spent before the budget was set', async () => {
    const apiKeyId = keyId();
    const kept = await take({ apiKeyId });
    const failed = await take({ apiKeyId });
    await room.store.cancel(allTasksOf(TEST_ACCOUNT), failed.task.id);
    await completed(kept.task.id);
    await room.sql(
      `INSERT INTO chat_usage VALUES ($1, $2, $3, 'm', 'p', NULL, 'm', false, 200, 'completed', 1, 1, 0, 1, 1, now(), 7)`,
      [`req_${apiKeyId}`, TEST_ACCOUNT, apiKeyId],
    );
    await keyBudget(apiKeyId, 100_000, 'month');
    expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 40_007 });
    expect(remainingOf(await budgets.find([apiKeyId, 'acct_without']))).toBe(59_993);
  });

  async function newKey(): Promise<string> {
    const id = keyId();
    await room.sql(
      `INSERT INTO api_keys (id, account_id, name, prefix, hash, secret_id) VALUES ($1, $2, $1, '', convert_to($1, 'UTF8'), 'test')`,
      [id, TEST_ACCOUNT],
    );
    return id;
  }

  it('section 4, 5: keys that replaced each other draw on one budget, whichever of them it is set for', async () => {
    const keys = [await newKey(), await newKey(), await newKey()] as const;
    const [first, second, third] = keys;
    await keyBudget(first, 160_000);
    await take({ apiKeyId: first });
    const share = 'UPDATE api_keys SET original_key_id = budget_of($2) WHERE id = $1';
    await room.database.pool.query(share, [second, first]);
    await room.database.pool.query(share, [third, second]);
    await Promise.all([take({ apiKeyId: second }), take({ apiKeyId: third })]);
    for (const key of keys) expect(await budgetOf(key)).toMatchObject({ ownerId: key, spent: 120_000, limit: 160_000 });
    const parallel = await Promise.allSettled(keys.map((apiKeyId) => take({ apiKeyId })));
    expect(parallel.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await keyBudget(third, 240_000);
    for (const key of keys) expect(await budgetOf(key)).toMatchObject({ spent: 160_000, limit: 240_000 });
    await take({ apiKeyId: first });
    expect(await budgetOf(third)).toMatchObject({ spent: 200_000 });
    expect((await budgets.find(keys)).map(({ ownerId }) => ownerId).sort()).toEqual([...keys].sort());
    await budgets.set({ ownerId: second, owner: 'key' }, undefined);
    for (const key of keys) expect(await budgetOf(key)).toBeUndefined();
    expect((await room.sql('SELECT 1 FROM budgets WHERE owner_id = ANY($1)', [keys])).rows).toEqual([]);
  });

  describe('of a chat', () => {
    const reserve = (keyId: string, amount: number | null, requestId = `req_${++count}`, lifeMs = 600_000) => {
      const reserves = new ChatReserves(count % 2 === 0 ? room.database : other);
      return retried(() => reserves.reserve({ requestId, accountId: TEST_ACCOUNT, keyId }, amount, lifeMs));
    };
    const written = (requestId: string, apiKeyId: string, cost: number) =>
      room.sql(
        `INSERT INTO chat_usage VALUES ($1, $2, $3, 'm', 'p', NULL, 'm', false, 200, 'completed', 1, 1, 0, 1, 1, now(), $4)`,
        [requestId, TEST_ACCOUNT, apiKeyId, cost],
      );
    const left = async (apiKeyId: string): Promise<number> =>
      (await room.sql('SELECT 1 FROM chat_reserves WHERE api_key_id = $1', [apiKeyId])).rows.length;

    it('H4: fifty at a time exceed a budget by no more than the last of them', async () => {
      const apiKeyId = keyId();
      await keyBudget(apiKeyId, 100_000);
      const answers = await Promise.allSettled(Array.from({ length: 50 }, () => reserve(apiKeyId, 30_000)));
      expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(4);
      for (const answer of answers) {
        if (answer.status === 'rejected')
          expect(refusalOf(answer.reason, 'USD')).toMatchObject({ code: 'insufficient_quota' });
      }
      expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 120_000 });
      await expect(take({ apiKeyId })).rejects.toMatchObject({ code: 'insufficient_quota' });
    });

    it('is what it has cost as soon as that is written down, or nothing when it was never sent', async () => {
      const apiKeyId = keyId();
      await keyBudget(apiKeyId, 100_000);
      await Promise.all(['one', 'two', 'three'].map((name) => reserve(apiKeyId, 30_000, `${name}-${apiKeyId}`)));
      await written(`one-${apiKeyId}`, apiKeyId, 7);
      await written(`two-${apiKeyId}`, apiKeyId, 0);
      expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 30_007 });
      await new ChatReserves(room.database).release(`three-${apiKeyId}`);
      expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 7 });
      expect(await left(apiKeyId)).toBe(0);
    });

    it('is given back when the database has reserved it, but its answer was lost', async () => {
      const apiKeyId = keyId();
      await keyBudget(apiKeyId, 100_000);
      const link = await FaultProxy.start(room.databaseUrl);
      const database = openPrisma(link.url, { queryTimeoutMs: Number(patientSetting(3_000, 30_000)) });
      await database.ping();
      link.fault = 'mute';
      const chat = { requestId: `mute-${apiKeyId}`, accountId: TEST_ACCOUNT, keyId: apiKeyId };
      await expect(new ChatReserves(database).reserve(chat, 30_000, 60_000)).rejects.toThrow('Query read timeout');
      expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 30_000 });
      link.fault = 'pass';
      const isBack = async () => (await budgetOf(apiKeyId))?.spent === 0;
      expect(await waitUntil(isBack, { timeoutMs: 20_000 })).toBe(true);
      await database.close();
      await link.close();
    });

    it('is given back when its process was lost, and counted all the same when it is written down later', async () => {
      const apiKeyId = keyId();
      await keyBudget(apiKeyId, 100_000);
      await reserve(apiKeyId, 30_000, `lost-${apiKeyId}`, -1_000);
      await reserve(apiKeyId, 20_000);
      expect(await new ChatReserves(room.database).releaseLost()).toBe(1);
      expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 20_000 });
      await written(`lost-${apiKeyId}`, apiKeyId, 9);
      expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 20_009 });
    });

    it('counts for a budget that is set meanwhile, and is not kept where there is none', async () => {
      const apiKeyId = await newKey();
      const free = keyId();
      await keyBudget(apiKeyId, 100_000);
      await reserve(apiKeyId, 30_000, `set-${apiKeyId}`);
      await keyBudget(apiKeyId, 200_000, 'month');
      expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 30_000 });
      await written(`set-${apiKeyId}`, apiKeyId, 5);
      expect(await budgetOf(apiKeyId)).toMatchObject({ spent: 5 });
      await reserve(free, 30_000);
      await reserve(free, null);
      expect(await left(free)).toBe(0);
      await expect(reserve(apiKeyId, null)).rejects.toMatchObject({ code: 'DR403' });
    });
  });

  it('begins anew with the month, and what ends later belongs to the month that it began in', async () => {
    const monthly = keyId();
    const total = keyId();
    await keyBudget(monthly, 80_000, 'month');
    await keyBudget(total, 80_000, 'total');
    const [old] = await Promise.all([take({ apiKeyId: monthly }), take({ apiKeyId: total })]);
    await room.sql(`UPDATE budgets SET period_start = period_start - interval '1 month' WHERE owner_id = ANY($1)`, [
      [monthly, total],
    ]);
    await reservedLastMonth('api_key_id = ANY($1)', [monthly, total]);
    expect(await budgetOf(monthly)).toMatchObject({ spent: 0 });
    expect(await budgetOf(total)).toMatchObject({ spent: 40_000 });
    await take({ apiKeyId: monthly });
    expect(await budgetOf(monthly)).toMatchObject({ spent: 40_000 });
    await room.store.cancel(allTasksOf(TEST_ACCOUNT), old.task.id);
    expect(await budgetOf(monthly)).toMatchObject({ spent: 40_000 });
  });

  it('counts a task that was accepted last month in the month of its reserve', async () => {
    const reservedBefore = 'acct_before';
    const reservedSince = 'acct_since';
    for (const accountId of [reservedBefore, reservedSince]) await take({ accountId, apiKeyId: keyId() });
    const accounts = [reservedBefore, reservedSince];
    await room.sql(`UPDATE tasks SET created_at = created_at - interval '1 month' WHERE account_id = ANY($1)`, [
      accounts,
    ]);
    await reservedLastMonth('account_id = $1', reservedBefore);
    expect(await budgets.spentThisMonth(accounts, 'USD')).toEqual(new Map([[reservedSince, 40_000]]));
  });
});
