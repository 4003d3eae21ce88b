import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { loadConfig } from '#config/load-config.js';
import { startRedis } from '#embedded/redis.js';
import { waitUntil } from '#embedded/wait-until.js';
import { requeue } from '#tasks/row/sweep.sql.js';
import { TaskEstimates } from '#tasks/admission/task-estimates.js';
import { TaskPlaces } from '#tasks/admission/task-places.js';
import { TaskSlots } from '#tasks/admission/task-slots.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import type { TaskCommand } from '#tasks/row/task.js';
import { allTasksOf } from '#tasks/row/task.js';
import { freePort } from '../support/free-port.js';
import { patientSetting } from '../support/patience.js';
import { command, openTaskRoom, TEST_ACCOUNT, TEST_KEY, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;

/** On a Redis of its own, which is stopped and emptied. */
describe('tasks in flight', () => {
  let folder: string;
  let service: Awaited<ReturnType<typeof startRedis>>;
  let room: TaskRoom;
  let admin: Redis;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-slots-'));
    service = await startRedis({
      folder: join(folder, 'redis'),
      password: 'slots',
      log: join(folder, 'redis.log'),
      toolFolders: [resolve('node_modules', '.cache', 'darkroom')],
      port: await freePort(),
    });
    admin = new Redis(service.url);
    room = await openTaskRoom(service.url, Number(patientSetting(8_000, 30_000)));
    await room.sql(
      `INSERT INTO api_keys (id, account_id, name, prefix, hash, secret_id, original_key_id) VALUES
        ('key_other', $1, 'other', 'sk-dr-other', '\\x01', 'test', NULL), ('key_heir', $1, 'heir', 'sk-dr-heir', '\\x02', 'test', $2)`,
      [TEST_ACCOUNT, TEST_KEY],
    );
  });
  afterEach(async () => {
    await room.sql('DELETE FROM tasks');
    await admin.flushall();
  });
  afterAll(async () => {
    await room.close();
    admin.disconnect();
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const capped = (changes: Partial<TaskCommand> = {}) => command({ maxInFlight: 5, ...changes });

  const take = async (task: TaskCommand) => {
    const taken = await room.slots.with(task, (slot) =>
      slot === undefined ? room.order.takeTurn(task) : room.order.takeTurnAndSlot(task, slot),
    );
    return 'limit' in taken ? taken : undefined;
  };

  /** Accepts so many, as a submit does: a place, then a row. Answers with those that were let in. */
  async function accept(count: number, changes?: Partial<TaskCommand>): Promise<TaskCommand[]> {
    const taken: TaskCommand[] = [];
    for (let n = 0; n < count; n++) {
      const task = capped(changes);
      if ((await take(task)) !== undefined) continue;
      await room.inserts.insert(task, DEADLINE_MS);
      taken.push(task);
    }
    return taken;
  }

  const end = (tasks: readonly TaskCommand[]) =>
    room.sql(
      `UPDATE tasks SET status = 'failed', phase = 'done', error = '{}', finished_at = now() WHERE id = ANY($1)`,
      [tasks.map(({ id }) => id)],
    );

  it('are refused above the key’s limit and above the account’s, which of them is said, and ended ones make room', async () => {
    const taken = await accept(7);
    expect(taken).toHaveLength(5);
    expect(await take(capped())).toEqual({ of: 'key', limit: 5 });
    const sibling = { apiKeyId: 'key_other', accountMaxInFlight: 8 };
    expect(await accept(9, { ...sibling, maxInFlight: 0 })).toHaveLength(3);
    expect(await take(capped(sibling))).toEqual({ of: 'account', limit: 8 });
    // Another account's tasks are no business of this one's.
    expect(await take(capped({ accountId: 'acct_far', apiKeyId: 'key_far', accountMaxInFlight: 1 }))).toBe(undefined);
    room.slots.free(taken[0] ?? capped());
    expect(await accept(2)).toHaveLength(1);
  });

  it('section 4.2: a key of five with eight refused submits while Redis was frozen has all its places right after the thaw, and its turns', async () => {
    const [known] = await accept(1);
    if (known !== undefined) room.slots.free(known);
    await room.sql('DELETE FROM tasks');
    const [config] = loadConfig([TasksConfig], {});
    const estimates = new TaskEstimates(room.times, room.line, room.health);
    const { slots, order, queue, health, logger } = room;
    const places = new TaskPlaces(slots, order, queue, estimates, health, config, logger);
    const turns = async () =>
      Promise.all(
        [`rounds`, `keys:${TEST_ACCOUNT}`].map(async (name) =>
          Object.entries(await room.redis.hgetall(`${room.prefix}:${name}`)).map(([of, turn]) => [of, Number(turn)]),
        ),
      );
    const before = await turns();
    process.kill(service.pid, 'SIGSTOP');
    const refused = await Promise.all(Array.from({ length: 8 }, () => places.take(capped())));
    process.kill(service.pid, 'SIGCONT');
    expect(refused.map(({ place }) => place)).toEqual(Array.from({ length: 8 }, () => undefined));
    expect(await waitUntil(() => room.health.accepting, { timeoutMs: 20_000 })).toBe(true);
    expect(await turns()).toEqual(before);
    const after = await Promise.all(Array.from({ length: 8 }, () => places.take(capped())));
    expect(after.filter(({ place }) => place !== undefined)).toHaveLength(5);
  });

  it('are refused also by a process that takes long to ask again after it has read the rows', async () => {
    await accept(5);
    await admin.flushall();
    const late = capped();
    let asked = 0;
    const taken = await room.slots.with(late, async (slot) => {
      if (slot === undefined) return await room.order.takeTurn(late);
      // As if the process had stalled for a minute in between.
      if (++asked === 2) await room.redis.zincrby(`${room.prefix}:in-flight`, -60_000, late.accountId);
      return await room.order.takeTurnAndSlot(late, slot);
    });
    expect([asked, taken]).toEqual([2, { of: 'key', limit: 5 }]);
  });

  it('section 4.3: tasks that end while Redis is away have given their places back when it returns', async () => {
    const taken = await accept(5);
    // A refusal was right two seconds ago; by then the rows are asked again.
    expect(await take(capped())).toEqual({ of: 'key', limit: 5 });
    process.kill(service.pid, 'SIGSTOP');
    await end(taken);
    process.kill(service.pid, 'SIGCONT');
    expect(
      await waitUntil(async () => (await take(capped()).catch(() => ({}))) === undefined, {
        timeoutMs: 30_000,
      }),
    ).toBe(true);
    expect(await accept(9)).toHaveLength(4);
  });

  it('section 4.4: the cap holds after FLUSHALL, for the key and for its account', async () => {
    await accept(5);
    await accept(3, { apiKeyId: 'key_other' });
    await admin.flushall();
    expect(await accept(5)).toEqual([]);
    expect(await accept(5, { apiKeyId: 'key_other' })).toHaveLength(2);
    await admin.flushall();
    expect(await accept(3, { apiKeyId: 'key_third', accountMaxInFlight: 10 })).toEqual([]);
  });

  it('H6: are counted together for a key and its replacement, whoever ends them and also after FLUSHALL', async () => {
    const heir = { apiKeyId: 'key_heir', originalKeyId: TEST_KEY };
    const are = async (count: number) =>
      await waitUntil(async () => (await admin.zcard(`${room.prefix}:in-flight:${TEST_KEY}`)) === count, {
        timeoutMs: 30_000,
      });
    const [old] = await accept(3);
    const [first, second, ...more] = await accept(4, heir);
    expect(more).toEqual([]);
    for (const pair of [{}, heir]) expect(await take(capped(pair))).toEqual({ of: 'key', limit: 5 });
    await admin.flushall();
    for (const pair of [heir, {}]) expect(await take(capped(pair))).toEqual({ of: 'key', limit: 5 });
    expect(await are(5)).toBe(true);

    const cancelled = await room.store.cancel(allTasksOf(TEST_ACCOUNT), first!.id);
    room.slots.free({ ...first!, originalKeyId: cancelled!.originalKeyId });
    expect(await are(4)).toBe(true);
    const [entry] = await requeue(room.database.pool, [{ taskId: second!.id, epoch: 0 }], false);
    expect(entry?.caller).toMatchObject({ accountId: TEST_ACCOUNT, originalKeyId: TEST_KEY });
    const claimed = await room.transitions.claim(second!.id, 'worker', 60_000);
    expect(claimed?.task).toMatchObject({ apiKeyId: 'key_heir', originalKeyId: TEST_KEY });
    await room.sql(`UPDATE tasks SET deadline_at = now() - interval '1 second' WHERE id = ANY($1)`, [
      [old!.id, second!.id],
    ]);
    expect(await room.newSweep().failOverdue()).toBe(2);
    expect(await are(2)).toBe(true);
    expect(await accept(4, heir)).toHaveLength(3);
  });

  it('are looked up in the rows now and again, once for all processes, and an account without any is forgotten', async () => {
    const taken = await accept(5);
    await end(taken.slice(0, 2));
    const keys = async () => admin.zcard(`${room.prefix}:in-flight:${TEST_KEY}`);
    expect(await room.slots.check()).toBe(0);
    await admin.del(`${room.prefix}:in-flight:checked`);
    await admin.zadd(`${room.prefix}:in-flight`, 1, TEST_ACCOUNT);
    const [config] = loadConfig([TasksConfig], {});
    const second = new TaskSlots(room.redis, room.redisConfig, config, room.database);
    expect((await Promise.all([room.slots.check(), second.check()])).sort()).toEqual([0, 1]);
    expect(await keys()).toBe(3);
    await end(taken);
    for (let pass = 0; pass < 2; pass++) {
      await admin.del(`${room.prefix}:in-flight:checked`);
      await admin.zadd(`${room.prefix}:in-flight`, 'XX', 1, TEST_ACCOUNT);
      expect(await room.slots.check()).toBe(1);
    }
    expect(await admin.zcard(`${room.prefix}:in-flight`)).toBe(0);
    expect(await keys()).toBe(0);
  });

  it('are all found in the rows, however many an account has', async () => {
    const [task] = await accept(1);
    await room.sql(
      `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, deadline_at)
       SELECT id || n, account_id, api_key_id, request_id, action, model, prompt, options, deadline_at
       FROM tasks, generate_series(1, 2500) AS n WHERE id = $1`,
      [task?.id],
    );
    const counted = async () => {
      await admin.del(`${room.prefix}:in-flight:checked`);
      await admin.zadd(`${room.prefix}:in-flight`, 'XX', 1, TEST_ACCOUNT);
      await room.slots.check();
      return await admin.zcard(`${room.prefix}:in-flight:${TEST_ACCOUNT}`);
    };
    expect(await counted()).toBe(2_501);
    await room.sql(
      `UPDATE tasks SET status = 'failed', phase = 'done', error = '{}', finished_at = now() WHERE id <> $1`,
      [task?.id],
    );
    expect(await counted()).toBe(1);
  });
});
