import { PrismaService } from '#database/prisma.service.js';
import { refusalOf } from '#billing/budget-refusal.js';
import { rollUp } from '#billing/billing.sql.js';
import { ChatReserves } from '#billing/chat-reserves.js';
import type { LabelKind, LabelLimit } from '#billing/label-limits.js';
import { LabelLimits } from '#billing/label-limits.repository.js';
import type { TaskIntake } from '#tasks/intake/task-intake.js';
import { allTasksOf, type TaskCommand } from '#tasks/row/task.js';
import { Chance } from '../support/chance.js';
import { retried } from '../support/retried.js';
import { command, newIntake, openTaskRoom, TEST_ACCOUNT, TEST_KEY, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;
const IMAGE = { key: 'results/x', contentType: 'image/png', width: 1, height: 1, bytes: 1, sha256: 'ab' };
const budget = (kind: LabelKind, name: string, monthlyBudget: number | null): LabelLimit => ({
  kind,
  name,
  monthlyBudget,
  requestsPerMinute: null,
  tasksInFlight: null,
  weight: null,
});

/** Two intakes on pools of their own, like two processes. */
describe('budgets of end users and tags', () => {
  let room: TaskRoom;
  let other: PrismaService;
  let limits: LabelLimits;
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
    limits = new LabelLimits(room.database);
    intakes = [
      newIntake(room.database, room.tasksConfig, room.lostCallers).intake,
      newIntake(other, room.tasksConfig, room.lostCallers).intake,
    ];
  });
  afterAll(async () => {
    await other.close();
    await room.close();
  });

  const set = (...all: LabelLimit[]) => retried(() => limits.set(TEST_ACCOUNT, all));
  const take = async (reserved: number | null, labels: Partial<TaskCommand>): Promise<string> => {
    const intake = intakes[count++ % 2 === 0 ? 0 : 1];
    const order = command({ cost: { reserved, currency: 'USD' }, ...labels });
    return (await retried(() => intake.take(order, DEADLINE_MS))).task.id;
  };
  const refused = async (taken: Promise<unknown>) => {
    const error: unknown = await taken.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return error as { code: string; message: string } | undefined;
  };
  const completed = async (id: string): Promise<void> => {
    const claimed = await room.transitions.claim(id, 'worker', 20_000);
    const lease = { id, attempt: claimed?.attempt ?? 0 };
    expect(await room.transitions.complete(lease, { images: [IMAGE], usage: undefined, warnings: [] })).toBeDefined();
  };
  /** What the budgets say is spent, by label. */
  const spent = async (): Promise<Record<string, number>> => {
    const { rows } = await room.sql(
      `SELECT owner || ' ' || split_part(owner_id, ' ', 3) AS label, spent_micros::float8 AS spent FROM budgets
       WHERE owner IN ('end_user', 'tag')`,
    );
    return Object.fromEntries((rows as { label: string; spent: number }[]).map(({ label, spent }) => [label, spent]));
  };
  const rollUpAll = async (): Promise<void> => {
    while ((await rollUp(room.database.pool)) > 0);
  };

  it('refuse what does not fit, of the end user or of one tag, without naming it, and take nothing from the others', async () => {
    await set(budget('end_user', '', 100_000), budget('tag', 'draft', 50_000));
    await take(40_000, { endUser: 'ann', tags: ['draft', 'free'] });
    expect(await spent()).toEqual({ 'end_user ann': 40_000, 'tag draft': 40_000 });
    const tag = await refused(take(40_000, { endUser: 'ann', tags: ['draft'] }));
    expect(tag).toMatchObject({ code: 'insufficient_quota' });
    expect(tag?.message).toBe(
      'The budget of a tag of this request does not cover the request: 0.010000 USD is left this month.',
    );
    expect(await spent()).toEqual({ 'end_user ann': 40_000, 'tag draft': 40_000 });
    await take(60_000, { endUser: 'ann' });
    const user = await refused(take(1, { endUser: 'ann' }));
    expect(user?.message).toBe('The budget of this end user does not cover the request: nothing is left this month.');
    await take(100_000, { endUser: 'ben' });
    await take(1_000_000, {});
    expect(await refused(take(null, { endUser: 'cem' }))).toMatchObject({ code: 'model_not_allowed' });
  });

  it('give back what a task did not cost, and settle what it did', async () => {
    await set(budget('end_user', '', 100_000), budget('tag', '', 100_000));
    const labels = { endUser: 'dan', tags: ['two', 'one'] };
    const first = await take(30_000, labels);
    const second = await take(20_000, labels);
    await completed(second);
    await room.store.cancel(allTasksOf(TEST_ACCOUNT), first);
    const { 'end_user dan': dan, 'tag one': one, 'tag two': two } = await spent();
    expect([dan, one, two]).toEqual([20_000, 20_000, 20_000]);
  });

  it('of a label of its own come before those of each, and a change counts what was spent this month', async () => {
    await set();
    expect(await spent()).toEqual({});
    // Spent before there is a budget: rolled up, not rolled up yet, and reserved.
    await completed(await take(10_000, { endUser: 'eva' }));
    await rollUpAll();
    await completed(await take(20_000, { endUser: 'eva' }));
    const open = await take(30_000, { endUser: 'eva' });
    await set(budget('end_user', '', 10_000), budget('end_user', 'eva', 65_000));
    expect(await refused(take(6_000, { endUser: 'eva' }))).toMatchObject({ code: 'insufficient_quota' });
    await take(5_000, { endUser: 'eva' });
    expect(await spent()).toEqual({ 'end_user eva': 65_000 });
    await room.store.cancel(allTasksOf(TEST_ACCOUNT), open);
    expect(await spent()).toEqual({ 'end_user eva': 35_000 });
    await rollUpAll();
    await set(budget('end_user', 'eva', 40_000));
    expect(await refused(take(5_001, { endUser: 'eva' }))).toMatchObject({ code: 'insufficient_quota' });
    await set(budget('end_user', 'eva', null), budget('end_user', '', 1));
    await take(5_001, { endUser: 'eva' });
    expect(await refused(take(2, { endUser: 'fay' }))).toMatchObject({ code: 'insufficient_quota' });
  });

  it('count chats: reserved, released, and recorded for the labels that they had', async () => {
    await set(budget('end_user', '', 100_000), budget('tag', 'chat', 100_000));
    const reserves = new ChatReserves(room.database);
    const begin = (requestId: string, amount: number) =>
      reserves.reserve(
        { requestId, accountId: TEST_ACCOUNT, keyId: TEST_KEY, endUser: 'gus', tags: ['chat'] },
        amount,
        60_000,
      );
    await begin('gus-1', 60_000);
    await begin('gus-2', 50_000);
    const error = await refused(begin('gus-3', 1));
    expect(refusalOf(error, 'USD')?.message).toContain('The budget of this end user');
    await reserves.release('gus-2');
    await room.sql(
      `INSERT INTO chat_usage (request_id, account_id, api_key_id, model, provider, provider_model, streamed, status, outcome,
         first_byte_ms, duration_ms, created_at, cost_micros, end_user, tags)
       VALUES ('gus-1', $1, $2, 'm', 'p', 'm', false, 200, 'completed', 1, 1, now(), 7, 'gus', '{chat}')`,
      [TEST_ACCOUNT, TEST_KEY],
    );
    expect(await spent()).toMatchObject({ 'end_user gus': 7, 'tag chat': 7 });
    // What processes of an earlier version call.
    await room.sql(`SELECT chat_reserve('old', $1, $2, 5, 60000)`, [TEST_ACCOUNT, TEST_KEY]);
  });

  it('are never exceeded by requests at once, in any order of tags, and end at what usage adds up to', async () => {
    await set(budget('end_user', '', 300_000), budget('tag', '', 400_000));
    const chance = new Chance(20_261_129);
    const users = ['hal', 'ida', 'jon'];
    const tags = ['x', 'y', 'z'];
    const orders = Array.from({ length: 120 }, () => ({
      endUser: chance.pick(users),
      tags: chance.pick([tags, [...tags].reverse()]).filter(() => chance.happens(0.5)),
      reserved: Math.ceil(chance.between(0, 40_000)),
      fate: chance.pick(['completed', 'cancelled', 'pending']),
    }));
    const answers = await Promise.allSettled(
      orders.map(async ({ reserved, fate, ...labels }) => {
        const id = await take(reserved, labels);
        if (fate === 'completed') await completed(id);
        if (fate === 'cancelled') await room.store.cancel(allTasksOf(TEST_ACCOUNT), id);
      }),
    );
    const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []));
    for (const failure of failures) expect(failure).toMatchObject({ code: 'insufficient_quota' });
    const counted = await spent();
    await rollUpAll();
    for (const [kind, names, limit] of [
      ['end_user', users, 300_000],
      ['tag', tags, 400_000],
    ] as const) {
      for (const name of names) {
        const { rows } = await room.sql(
          `SELECT label_spent($1, $2, $3, month_of(now()))::float8 AS spent,
             COALESCE((SELECT sum(spend_micros) FROM labeled_usage WHERE kind = $2 AND name = $3), 0)::float8
               + COALESCE((SELECT sum((cost ->> 'reserved')::bigint) FROM tasks WHERE status = 'pending'
                 AND CASE $2 WHEN 'tag' THEN $3 = ANY (tags) ELSE $3 = end_user END), 0)::float8 AS added`,
          [TEST_ACCOUNT, kind, name],
        );
        const [{ spent: told, added }] = rows as [{ spent: number; added: number }];
        expect([name, counted[`${kind} ${name}`], told]).toEqual([name, added, added]);
        expect(added).toBeLessThanOrEqual(limit);
      }
    }
  });

  it('are removed when their month is over, and begin anew', async () => {
    await set(budget('end_user', '', 10_000));
    await take(10_000, { endUser: 'kim' });
    expect(await limits.removeUnused()).toBe(0);
    for (const [table, column] of [
      ['budgets', 'period_start'],
      ['task_reserves', 'reserved_at'],
    ] as const) {
      await room.sql(`UPDATE ${table} SET ${column} = ${column} - interval '1 month'`);
    }
    expect(await limits.removeUnused()).toBe(1);
    await take(10_000, { endUser: 'kim' });
    expect(await spent()).toEqual({ 'end_user kim': 10_000 });
  });
});
