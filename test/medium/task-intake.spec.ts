import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { BudgetRepository } from '#billing/budget.repository.js';
import { loadConfig } from '#config/load-config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { DiskStore } from '#storage/disk-store.js';
import type { Intake } from '#tasks/intake/attach-task.js';
import { DepartedCallers } from '#tasks/intake/departed-callers.js';
import { LostCallers } from '#tasks/intake/lost-callers.js';
import type { RequestIdentity } from '#tasks/intake/request-identity.js';
import type { TaskIntake } from '#tasks/intake/task-intake.js';
import { newRequestId } from '#tasks/row/task-id.js';
import { ExpireIdempotencyKeys } from '#tasks/retention/expire-idempotency-keys.js';
import { ExpireTasks } from '#tasks/retention/expire-tasks.js';
import type { TaskCommand } from '#tasks/row/task.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { allTasksOf } from '#tasks/row/task.js';
import { retried } from '../support/retried.js';
import { command, newIntake, openTaskRoom, type TaskRoom } from '../support/task-room.js';

const NO_IMAGES = { images: [], usage: undefined, warnings: [] };
const DEADLINE_MS = 900_000;
type Keyed = RequestIdentity & { kind: 'keyed' };

describe('taking requests in', () => {
  let room: TaskRoom;
  let intakes: [TaskIntake, TaskIntake];
  let departed: DepartedCallers;
  let count = 0;
  beforeAll(async () => {
    room = await openTaskRoom();
    // Two of them share nothing but the database, like two processes.
    intakes = [
      newIntake(room.database, room.tasksConfig, room.lostCallers).intake,
      newIntake(room.database, room.tasksConfig, room.lostCallers).intake,
    ];
    departed = new DepartedCallers(room.database);
  });
  afterAll(() => room.close());

  const keyed = (): Keyed => ({ kind: 'keyed', key: `key-${++count}`, fingerprint: randomBytes(32) });
  const unkeyed = (retry: number, fingerprint = randomBytes(32)): RequestIdentity => ({
    kind: 'unkeyed',
    retry,
    counted: true,
    fingerprint,
  });
  const take = (identity?: RequestIdentity, changes = {}) => {
    const intake = intakes[count++ % 2 === 0 ? 0 : 1];
    const order = command(changes);
    return retried(() => intake.take(order, DEADLINE_MS, identity));
  };
  const taskCount = (): Promise<number> => room.database.task.count();

  it.each([
    ['a key', keyed()],
    ['a counted retry', unkeyed(1)],
  ])('makes one task of fifty parallel calls with %s', async (_name, identity) => {
    const before = await taskCount();
    const taken = await Promise.all(Array.from({ length: 50 }, () => take(identity)));
    expect(new Set(taken.map(({ task }) => task.id)).size).toBe(1);
    expect(taken.filter(({ attached }) => !attached)).toHaveLength(1);
    expect(await taskCount()).toBe(before + 1);
  });

  it('refuses a key for another request, and keeps no task of it', async () => {
    const identity = keyed();
    await take(identity);
    const before = await taskCount();
    const other = take({ ...identity, fingerprint: randomBytes(32) });
    await expect(other).rejects.toMatchObject({ code: 'idempotency_key_reused', param: 'Idempotency-Key' });
    expect(await taskCount()).toBe(before);
  });

  it('lets another account use the same key for itself', async () => {
    const identity = keyed();
    const first = await take(identity);
    const other = await take(identity, { accountId: 'acct_other' });
    expect(other.attached).toBe(false);
    expect(other.task.id).not.toBe(first.task.id);
  });

  it('gives an expired key to exactly one of those who want it', async () => {
    const identity = keyed();
    const first = await take(identity);
    await room.sql(`UPDATE idempotency_keys SET expires_at = now() - interval '1 s' WHERE key = $1`, [identity.key]);
    const anew = { ...identity, fingerprint: randomBytes(32) };
    const taken = await Promise.all(Array.from({ length: 20 }, () => take(anew)));
    expect(taken.filter(({ attached }) => !attached)).toHaveLength(1);
    expect(new Set(taken.map(({ task }) => task.id)).size).toBe(1);
    expect(taken[0]?.task.id).not.toBe(first.task.id);
    await expect(take(identity)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  });

  it('says that a key is in use when its task cannot be read', async () => {
    const identity = keyed();
    const { task } = await take(identity);
    await room.sql('DELETE FROM tasks WHERE id = $1', [task.id]);
    await expect(take(identity)).rejects.toMatchObject({ code: 'idempotency_in_progress' });
  });

  it('keeps a key for a day, and at least until the deadline of its task', async () => {
    const { intake } = newIntake(room.database, room.tasksConfig, room.lostCallers);
    const keptMs = async (deadlineMs: number) => {
      const identity = keyed();
      await retried(() => intake.take(command(), deadlineMs, identity));
      const { rows } = await room.database.pool.query<{ ms: number }>(
        `SELECT (extract(epoch FROM expires_at - created_at) * 1000)::int AS ms FROM idempotency_keys WHERE key = $1`,
        [identity.key],
      );
      return rows;
    };
    expect(await keptMs(DEADLINE_MS)).toEqual([{ ms: 86_400_000 }]);
    expect(await keptMs(86_400_000)).toEqual([{ ms: 86_400_000 }]);
    expect(() => loadConfig([TasksConfig], { TASK_DEADLINE_MS: '86400001' })).toThrow('TASK_DEADLINE_MS');
  });

  it('removes expired keys and no others', async () => {
    const old = keyed();
    const live = keyed();
    await take(old);
    await take(live);
    await room.sql(`UPDATE idempotency_keys SET expires_at = now() - interval '1 second' WHERE key = $1`, [old.key]);
    await new ExpireIdempotencyKeys(room.database, room.logger).run();
    const { rows } = await room.sql('SELECT key FROM idempotency_keys WHERE key = ANY($1)', [[old.key, live.key]]);
    expect(rows).toEqual([{ key: live.key }]);
  });

  it('keeps the row of an old task while a live key stands for it', async () => {
    const identity = keyed();
    const { task } = await take(identity);
    const old = `now() - interval '2 hours'`;
    await room.sql(
      `UPDATE tasks SET status = 'failed', phase = 'done', finished_at = ${old}, objects_deleted_at = now() WHERE id = $1`,
      [task.id],
    );
    const config = { imageRetentionHours: 72, taskRetentionHours: 1 };
    const expire = new ExpireTasks(room.database, new DiskStore(tmpdir()), room.logger);
    await expire.run(config);
    expect(await take(identity)).toMatchObject({ attached: true, task: { id: task.id, status: 'failed' } });
    await room.sql(`UPDATE idempotency_keys SET expires_at = now() - interval '1 s' WHERE key = $1`, [identity.key]);
    await expire.run(config);
    expect(await room.store.find(allTasksOf(task.accountId), task.id)).toBeUndefined();
  });

  it('attaches a retry to the newest task of the same request, but no first try ever', async () => {
    const fingerprint = randomBytes(32);
    const first = await take(unkeyed(0, fingerprint));
    const second = await take(unkeyed(0, fingerprint));
    expect(second.task.id).not.toBe(first.task.id);
    // Both may be of the same millisecond; the ids are not in order then.
    await room.sql(`UPDATE tasks SET created_at = created_at - interval '1 second' WHERE id = $1`, [first.task.id]);
    expect(await take(unkeyed(2, fingerprint))).toMatchObject({ attached: true, task: { id: second.task.id } });
  });

  it.each<[string, string, object]>([
    ['was delivered', 'delivered_at = now()', {}],
    ['is older than 15 minutes', `created_at = now() - interval '16 minutes'`, {}],
    ['is of another API key', 'request_id = request_id', { apiKeyId: 'key_other' }],
  ])('makes a new task for a retry when the first %s', async (_name, change, changes) => {
    const fingerprint = randomBytes(32);
    const first = await take(unkeyed(0, fingerprint));
    await room.sql(`UPDATE tasks SET ${change} WHERE id = $1`, [first.task.id]);
    expect((await take(unkeyed(1, fingerprint), changes)).attached).toBe(false);
  });

  const approval = { above: 0, deadlineMs: DEADLINE_MS };
  const HOURS_AGO = `created_at = now() - interval '30 hours'`;
  const ended = (hours: number) =>
    `status = 'completed', phase = 'done', finished_at = now() - interval '${hours} hours'`;

  it.each([
    ['waits for its approval', true, HOURS_AGO],
    ['was completed 23 hours ago', true, `${HOURS_AGO}, ${ended(23)}`],
    ['was completed 25 hours ago', false, `${HOURS_AGO}, ${ended(25)}`],
    ['was delivered', false, `${HOURS_AGO}, ${ended(1)}, delivered_at = now() - interval '1 hour'`],
  ])('gives an asynchronous retry the task that needed an approval, which %s: %s', async (_name, attached, change) => {
    const fingerprint = randomBytes(32);
    const asked = { asynchronous: true, approval };
    const first = await take(unkeyed(1, fingerprint), asked);
    await room.sql(`UPDATE tasks SET ${change} WHERE id = $1`, [first.task.id]);
    const again = await take(unkeyed(1, fingerprint), asked);
    expect(again.attached).toBe(attached);
    // Nor does it matter whether it needs an approval itself.
    expect((await take(unkeyed(1, fingerprint), { asynchronous: true })).task.id).toBe(again.task.id);
  });

  it.each([0, 1])(
    'lets a synchronous request have its held task when it needs no approval any more (try %i)',
    async (retry) => {
      const identity = unkeyed(retry);
      const first = await take(identity, { approval });
      const found = { attached: true, task: { id: first.task.id } };
      if (retry === 0) expect((await take(identity, { asynchronous: true })).attached).toBe(false);
      expect(await Promise.all([take(identity), take(identity)])).toMatchObject([found, found]);
      await room.sql(`UPDATE tasks SET ${HOURS_AGO}, ${ended(23)} WHERE id = $1`, [first.task.id]);
      expect(await take(identity)).toMatchObject(found);
      await room.sql('UPDATE tasks SET delivered_at = now() WHERE fingerprint = $1', [identity.fingerprint]);
      expect((await take(identity)).attached).toBe(false);
    },
  );

  describe('an equal request of a client that counts no tries', () => {
    const WINDOW_MS = 120_000;
    const uncounted = (fingerprint = randomBytes(32)): RequestIdentity => ({
      kind: 'unkeyed',
      retry: 0,
      counted: false,
      fingerprint,
    });
    const leave = ({ task }: Intake, requestId: string) => departed.markAbandoned(task.id, requestId);
    /** A request, and its id. */
    const ask = async (identity: RequestIdentity, changes = {}) => {
      const requestId = newRequestId();
      return { requestId, intake: await take(identity, { requestId, ...changes }) };
    };

    it('is a task of its own while the first caller waits, and the task of a caller that has left', async () => {
      const identity = uncounted();
      const first = await ask(identity);
      const second = await ask(identity);
      expect(second.intake).toMatchObject({ attached: false });
      await leave(first.intake, first.requestId);
      const third = await ask(identity);
      expect(third.intake).toMatchObject({ attached: true, task: { id: first.intake.task.id } });
      expect((await ask(identity)).intake.attached).toBe(false);
    });

    it('can leave what it has attached to, over and over, and the late leave of an earlier caller changes nothing', async () => {
      const identity = uncounted();
      const first = await ask(identity);
      await leave(first.intake, first.requestId);
      for (let tries = 0; tries < 3; tries++) {
        const again = await ask(identity);
        expect(again.intake).toMatchObject({ attached: true, task: { id: first.intake.task.id } });
        await leave(first.intake, first.requestId);
        expect(await intakes[0].attachExisting(command(), identity)).toBeUndefined();
        await leave(again.intake, again.requestId);
      }
    });

    it('gives what one caller has left to one of twenty that come at once', async () => {
      const identity = uncounted();
      const left = await Promise.all([ask(identity), ask(identity), ask(identity)]);
      for (const { intake, requestId } of left) await leave(intake, requestId);
      const taken = await Promise.all(Array.from({ length: 20 }, () => ask(identity)));
      const attached = taken.filter(({ intake }) => intake.attached).map(({ intake }) => intake.task.id);
      expect(attached.sort()).toEqual(left.map(({ intake }) => intake.task.id).sort());
      expect(new Set(taken.map(({ intake }) => intake.task.id)).size).toBe(20);
    });

    it.each<[string, string, object]>([
      ['was delivered', 'delivered_at = now()', {}],
      ['was left too long ago', `abandoned_at = now() - interval '${WINDOW_MS + 1_000} milliseconds'`, {}],
      ['was cancelled', `status = 'cancelled', phase = 'done', finished_at = now()`, {}],
      ['has failed without cost', `status = 'failed', phase = 'done', finished_at = now()`, {}],
      ['is of another API key', 'request_id = request_id', { apiKeyId: 'key_other' }],
    ])('is a new task when the one that was left %s', async (_name, change, changes) => {
      const identity = uncounted();
      const first = await ask(identity);
      await leave(first.intake, first.requestId);
      await room.sql(`UPDATE tasks SET ${change} WHERE id = $1`, [first.intake.task.id]);
      expect((await ask(identity, changes)).intake.attached).toBe(false);
    });

    const call = (charged: string, free = false) =>
      JSON.stringify([{ n: 1, provider: 'p', key: '', model: 'm', free, startedAt: 'x', endedAt: 'x', charged }]);
    it.each<[string, string, string, boolean]>([
      ['may have been charged', call('maybe'), 'now()', true],
      ['was charged', call('yes'), 'now()', true],
      ['was charged longer ago than a minute', call('yes'), `now() - interval '61 seconds'`, false],
      ['cost nothing', call('no'), 'now()', false],
      ['may have been charged by a free provider', call('maybe', true), 'now()', false],
      ['never reached a provider', '[]', 'now()', false],
    ])('after a failure that %s', async (_name, calls, finishedAt, attaches) => {
      const identity = uncounted();
      const { intake } = await ask(identity);
      await room.sql(
        `UPDATE tasks SET status = 'failed', phase = 'done', finished_at = ${finishedAt}, calls = $2 WHERE id = $1`,
        [intake.task.id, calls],
      );
      const again = await ask(identity);
      const more = await ask(identity);
      expect([again.intake.attached, more.intake.attached]).toEqual([attaches, attaches]);
      if (attaches) expect(again.intake.task).toMatchObject({ id: intake.task.id, status: 'failed' });
    });

    it('gets a failure that may have been charged by the clock of the database, also when that of the process is ahead', async () => {
      const identity = uncounted();
      const { intake } = await ask(identity);
      const failed = `status = 'failed', phase = 'done', finished_at = now(), calls = $2`;
      await room.sql(`UPDATE tasks SET ${failed} WHERE id = $1`, [intake.task.id, call('maybe')]);
      const now = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 61_000);
      const again = await ask(identity).finally(() => now.mockRestore());
      expect(again.intake).toMatchObject({ attached: true, task: { id: intake.task.id } });
    });

    it('is found without making anything', async () => {
      const identity = uncounted();
      expect(await intakes[0].attachExisting(command(), identity)).toBeUndefined();
      const { intake, requestId } = await ask(identity);
      expect(await intakes[0].attachExisting(command(), identity)).toBeUndefined();
      await leave(intake, requestId);
      expect(await intakes[0].attachExisting(command(), identity)).toMatchObject({ task: { id: intake.task.id } });
    });
  });

  describe('an equal request, when the first caller waits at another process', () => {
    let processes: { intake: TaskIntake; lost: LostCallers; presence: Redis }[];
    beforeEach(async () => {
      processes = await Promise.all(
        ['a', 'b'].map(async (name) => {
          const lost = new LostCallers(room.redis, room.redisConfig, room.database);
          lost.waiter = `${name}${++count}`;
          const presence = room.redis.duplicate({ enableOfflineQueue: true });
          await presence.subscribe(lost.channelOf(lost.waiter));
          const { intake, departed: own } = newIntake(room.database, room.tasksConfig, lost);
          presence.on('message', (_channel, text) => {
            void lost.receive(text, (fingerprint) => own.waitForAllMarks(fingerprint));
          });
          return { intake, lost, presence };
        }),
      );
    });
    afterEach(() => {
      for (const { presence } of processes) presence.disconnect();
    });
    const first = (fingerprint = randomBytes(32), counted = false): RequestIdentity => ({
      kind: 'unkeyed',
      retry: 0,
      counted,
      fingerprint,
    });
    const ask = (process: number, identity: RequestIdentity, changes = {}): Promise<Intake> =>
      retried(() => processes[process]!.intake.take(command(changes), DEADLINE_MS, identity));
    const end = async (process: number): Promise<void> => {
      const { lost, presence } = processes[process]!;
      presence.disconnect();
      const heard = async () => Number((await room.redis.pubsub('NUMSUB', lost.channelOf(lost.waiter ?? '')))[1]);
      expect(await waitUntil(async () => (await heard()) === 0, { timeoutMs: 20_000 })).toBe(true);
    };
    const abandoned = async ({ task }: Intake): Promise<boolean> =>
      (await room.database.task.findUniqueOrThrow({ where: { id: task.id } })).abandonedAt !== null;

    it('is a task of its own while that process lives', async () => {
      const identity = first();
      const taken = [await ask(0, identity), await ask(1, identity), await ask(0, identity)];
      expect(taken.map(({ attached }) => attached)).toEqual([false, false, false]);
    });

    it.each([false, true])('gets its task once that process was killed (counted: %s)', async (counted) => {
      const identity = first(undefined, counted);
      const left = await ask(0, identity);
      await end(0);
      expect(await ask(1, identity)).toMatchObject({ attached: true, task: { id: left.task.id } });
      expect((await ask(1, identity)).attached).toBe(false);
    });

    it('gives what one process has left to one each of ten that come at once', async () => {
      const identity = first();
      const left = [await ask(0, identity), await ask(0, identity)].map(({ task }) => task.id);
      await end(0);
      const taken = await Promise.all(Array.from({ length: 10 }, () => ask(1, identity)));
      const attached = taken.filter((intake) => intake.attached).map(({ task }) => task.id);
      expect(attached.sort()).toEqual(left.sort());
    });

    it('is found without making anything', async () => {
      const identity = first();
      const left = await ask(0, identity);
      expect(await processes[1]!.intake.attachExisting(command(), identity)).toBeUndefined();
      await end(0);
      expect(await processes[1]!.intake.attachExisting(command(), identity)).toMatchObject({
        task: { id: left.task.id },
      });
    });

    it('is a task of its own when that caller does not wait, and when Redis cannot be asked', async () => {
      const identity = first();
      await ask(0, identity, { asynchronous: true });
      await end(0);
      expect((await ask(1, identity)).attached).toBe(false);
      const away = new Redis('redis://127.0.0.1:1', {
        lazyConnect: true,
        enableOfflineQueue: false,
        maxRetriesPerRequest: 0,
        retryStrategy: () => null,
      });
      const lost = new LostCallers(away, room.redisConfig, room.database);
      const { intake } = newIntake(room.database, room.tasksConfig, lost);
      expect((await intake.take(command(), DEADLINE_MS, identity)).attached).toBe(false);
      away.disconnect();
    });

    it('gets its images when they were completed after that process was killed', async () => {
      const identity = first();
      const left = await ask(0, identity);
      const kept = await ask(1, first());
      await end(0);
      const completed = await Promise.all(
        [left, kept].map(async ({ task: { id } }) => {
          await room.transitions.claim(id, 'worker', 20_000);
          const row = await room.transitions.complete({ id, attempt: 1 }, NO_IMAGES);
          processes[1]!.lost.markCompleted(id, row?.waiter ?? '');
          return row?.waiter;
        }),
      );
      expect(completed).toEqual(processes.map(({ lost }) => lost.waiter));
      expect(await waitUntil(() => abandoned(left), { timeoutMs: 20_000 })).toBe(true);
      expect(await abandoned(kept)).toBe(false);
      expect(await ask(1, identity)).toMatchObject({ attached: true, task: { id: left.task.id, status: 'completed' } });
      expect((await ask(1, identity)).attached).toBe(false);
    });

    it('does not lose the caller that has attached since to the end of the first process', async () => {
      const counted = first(undefined, true);
      const left = await ask(0, counted);
      expect(await ask(1, { ...counted, retry: 1 } as RequestIdentity)).toMatchObject({ task: { id: left.task.id } });
      await end(0);
      await processes[1]!.lost.markAll();
      expect(await abandoned(left)).toBe(false);
    });

    it('gets its task later too, since the others mark what a killed process has left', async () => {
      const identity = first();
      const left = await ask(0, identity);
      const kept = await ask(1, first());
      await processes[1]!.lost.markAll();
      expect([await abandoned(left), await abandoned(kept)]).toEqual([false, false]);
      await end(0);
      await processes[1]!.lost.markAll();
      expect([await abandoned(left), await abandoned(kept)]).toEqual([true, false]);
    });
  });

  describe('requests of one moment', () => {
    const first = (): RequestIdentity => ({
      kind: 'unkeyed',
      retry: 0,
      counted: false,
      fingerprint: randomBytes(32),
    });
    /** Rows that one statement has made have one transaction. */
    const statements = async (ids: readonly string[]): Promise<number> => {
      const { rows } = await room.sql('SELECT count(DISTINCT xmin::text)::int AS count FROM tasks WHERE id = ANY($1)', [
        ids,
      ]);
      return (rows as { count: number }[])[0]?.count ?? 0;
    };
    const budget = (ownerId: string, limit: number) =>
      new BudgetRepository(room.database).set({ ownerId, owner: 'key' }, { limit, period: 'total' });
    const order = (changes: Partial<TaskCommand> = {}) => command({ budgeted: false, ...changes });

    it('are rows of one statement, each as if it had come alone', async () => {
      const orders = Array.from({ length: 40 }, (_, index) => order({ prompt: `prompt "${index}" \\ 'é' \u{1f600}` }));
      const taken = await Promise.all(
        orders.map((one, index) => intakes[0].take(one, DEADLINE_MS, [first(), keyed(), undefined][index % 3])),
      );
      expect(taken.map(({ task, attached }) => [task.id, attached])).toEqual(orders.map(({ id }) => [id, false]));
      const ids = orders.map(({ id }) => id);
      expect(await statements(ids)).toBe(1);
      const { rows } = await room.sql('SELECT id, prompt, options FROM tasks WHERE id = ANY($1) ORDER BY id', [ids]);
      expect(rows).toEqual(
        orders.map(({ id, prompt, options }) => ({ id, prompt, options })).sort((a, b) => (a.id < b.id ? -1 : 1)),
      );
    });

    it('are refused alone: others of the statement are not', async () => {
      // Of an API that does not know yet that there is a budget.
      await budget('key_poor', 100);
      const cost = { reserved: 60, currency: 'USD' };
      const orders = [
        ...Array.from({ length: 5 }, () => order({ apiKeyId: 'key_poor', cost })),
        ...Array.from({ length: 5 }, () => order({ cost })),
        order({ options: { ...command().options, user: 'a\u0000b' } }),
        ...Array.from({ length: 5 }, () => order()),
      ];
      const taken = await Promise.allSettled(orders.map((one) => intakes[0].take(one, DEADLINE_MS, first())));
      const outcomes = taken.map((one) =>
        one.status === 'fulfilled' ? 'taken' : ((one.reason as { code?: string }).code ?? ''),
      );
      expect(outcomes.slice(0, 5).sort()).toEqual([...Array<string>(4).fill('insufficient_quota'), 'taken']);
      expect(outcomes.slice(5)).toEqual([
        ...Array<string>(5).fill('taken'),
        '22P05',
        ...Array<string>(5).fill('taken'),
      ]);
      const { rows } = await room.sql('SELECT id FROM tasks WHERE id = ANY($1)', [orders.map(({ id }) => id)]);
      expect(rows).toHaveLength(11);
      const { rows: charges } = await room.sql(
        `SELECT sum(amount_micros)::int AS sum FROM charges WHERE api_key_id = 'key_poor'`,
      );
      expect(charges).toEqual([{ sum: 60 }]);
    });

    it('share a key as if they had come one after the other', async () => {
      const identity = keyed();
      const other = keyed();
      const asked = [identity, identity, { ...identity, fingerprint: randomBytes(32) }, other, identity];
      const taken = await Promise.allSettled(asked.map((one) => intakes[0].take(order(), DEADLINE_MS, one)));
      expect(taken).toMatchObject([
        { value: { attached: false } },
        { value: { attached: true } },
        { reason: { code: 'idempotency_key_reused' } },
        { value: { attached: false } },
        { value: { attached: true } },
      ]);
    });

    it('do not wait for one that has a budget, which is locked for a while', async () => {
      await budget('key_rich', 1_000);
      const holder = await room.database.pool.connect();
      await holder.query('BEGIN');
      // It is idle for as long as the others take.
      await holder.query('SET LOCAL idle_in_transaction_session_timeout = 0');
      await holder.query(`SELECT FROM budgets WHERE owner_id = 'key_rich' FOR UPDATE`);
      const cost = { reserved: 60, currency: 'USD' };
      let isTaken = false;
      const [rich, identity] = [command({ apiKeyId: 'key_rich', cost, budgeted: true }), first()];
      // On a busy machine it does not get the lock in time.
      const held = retried(() => intakes[0].take(rich, DEADLINE_MS, identity)).then(() => (isTaken = true));
      await Promise.all(Array.from({ length: 5 }, () => intakes[0].take(order({ cost }), DEADLINE_MS, first())));
      expect(isTaken).toBe(false);
      await holder.query('COMMIT');
      holder.release();
      await held;
    });
  });

  it('gives a counted retry what was left before what somebody waits for', async () => {
    const fingerprint = randomBytes(32);
    const requestId = newRequestId();
    const first = await take(unkeyed(0, fingerprint), { requestId });
    const second = await take(unkeyed(0, fingerprint));
    await room.sql(`UPDATE tasks SET created_at = created_at - interval '1 second' WHERE id = $1`, [first.task.id]);
    await departed.markAbandoned(first.task.id, requestId);
    expect((await take(unkeyed(1, fingerprint))).task.id).toBe(first.task.id);
    expect((await take(unkeyed(1, fingerprint))).task.id).toBe(second.task.id);
  });

  it('finds what a request repeats without making anything', async () => {
    const byKey = keyed();
    const byCount = unkeyed(1);
    for (const identity of [byKey, byCount, undefined]) {
      expect(await intakes[0].attachExisting(command(), identity)).toBeUndefined();
      const { task } = await take(identity);
      const found = await intakes[0].attachExisting(command(), identity);
      expect(found?.task.id).toBe(identity === undefined ? undefined : task.id);
    }
  });
});
