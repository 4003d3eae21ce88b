import { Worker } from 'bullmq';
import { patientConnection } from '#redis/connections.js';
import { loadConfig } from '#config/load-config.js';
import type { QueueCaller } from '#queue/fair-order.js';
import { taskIdOf } from '#queue/job-catalog.js';
import type { QueueEntry } from '#queue/image-queue.js';
import { RedisConfig } from '#redis/redis.config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { newTaskId } from '#tasks/row/task-id.js';
import { openTaskRoom, command, type TaskRoom } from '../support/task-room.js';

describe('the fair order', () => {
  let room: TaskRoom;
  const callerOf = new Map<string, string>();
  beforeEach(async () => {
    room = await openTaskRoom();
    callerOf.clear();
  });
  afterEach(() => room.close());

  /** The only key of an account, named like it. */
  const caller = (accountId: string, accountWeight = 1) => ({
    accountId,
    accountWeight,
    originalKeyId: accountId,
    weight: 1,
  });
  /** A key of the account `one`. */
  const key = (originalKeyId: string, weight = 1) => ({ accountId: 'one', accountWeight: 1, originalKeyId, weight });
  const entries = (whose: string | QueueCaller, count: number, weight?: number) =>
    Array.from({ length: count }, () => {
      const taskId = newTaskId();
      const owner = typeof whose === 'string' ? caller(whose, weight) : whose;
      callerOf.set(taskId, owner.originalKeyId);
      return { taskId, epoch: 0, caller: owner };
    });
  const add = async (whose: string | QueueCaller, count: number, weight?: number) => {
    const added = entries(whose, count, weight);
    await Promise.all(added.map((entry) => room.queue.add(entry)));
    return added;
  };

  /** Starts jobs one by one, like our worker does, and tells whose tasks they were for. */
  async function serve(count: number): Promise<string> {
    const [config] = loadConfig([RedisConfig], { REDIS_URL: room.redisUrl, REDIS_PREFIX: room.prefix });
    const connection = patientConnection(config, 'test', room.logger);
    const served: string[] = [];
    const worker = new Worker<{ taskId: string }>(
      'images',
      async (job) => {
        const next = await room.order.served(job.id ?? '');
        if (next !== undefined) served.push(callerOf.get(taskIdOf(next.id)) ?? '?');
        if (served.length === count) void worker.pause(true);
      },
      { connection, prefix: room.prefix, concurrency: 1 },
    );
    const reached = await waitUntil(() => served.length >= count, { timeoutMs: 30_000 });
    await worker.close();
    connection.disconnect();
    expect(reached).toBe(true);
    return served.join('');
  }

  it('wakes no worker for the next job when none waits', async () => {
    const [config] = loadConfig([RedisConfig], { REDIS_URL: room.redisUrl, REDIS_PREFIX: room.prefix });
    const connection = patientConnection(config, 'test', room.logger);
    const worker = new Worker('images', null, { connection, prefix: room.prefix, autorun: false });
    const wakeUps = () => room.redis.zrange(`${room.prefix}:images:marker`, '0', '-1');
    await add('a', 2);
    for (const left of [['0'], []]) {
      const job = await worker.getNextJob('token', { block: false });
      // BullMQ leaves one with each job that it hands out.
      expect(await wakeUps()).toEqual(['0']);
      await room.order.served(job.id ?? '', connection);
      expect(await wakeUps()).toEqual(left);
    }
    await add('a', 1);
    expect(await wakeUps()).toEqual(['0']);
    await worker.close();
    connection.disconnect();
  });

  it('lets a caller with little to do pass one who has queued a lot', async () => {
    await add('a', 200);
    expect(await serve(5)).toBe('aaaaa');
    await add('b', 10);
    expect([...(await serve(21))].filter((caller) => caller === 'b')).toHaveLength(10);
  });

  it('serves ten jobs within the first twenty turns, whoever has two thousand before them', async () => {
    for (let hundreds = 0; hundreds < 20; hundreds++) await room.queue.addAll(entries('a', 100));
    await add('b', 10);
    const served = await serve(20);
    expect([...served].filter((caller) => caller === 'b')).toHaveLength(10);
  });

  it('refuses a turn that comes too late, which changes nothing, and lets a key with none before it in', async () => {
    await add('a', 6);
    const busy = caller('a');
    const idle = caller('b');
    const rounds = await room.redis.hgetall(`${room.prefix}:rounds`);
    expect(await room.order.takeTurn(busy, 5)).toEqual({ turn: undefined, before: 6 });
    expect(await room.redis.hgetall(`${room.prefix}:rounds`)).toEqual(rounds);
    expect(await room.order.takeTurn(busy, 6)).toMatchObject({ before: 6 });
    const turn = await room.order.takeTurn(idle, 5);
    expect(turn.before).toBe(1);
    await room.order.returnTurn(idle);
    expect(await room.order.takeTurn(idle)).toEqual(turn);
  });

  it('gives an account of weight three three turns to each of the others', async () => {
    await add('a', 30);
    await room.queue.addAll(entries('b', 60, 3));
    const served = await serve(40);
    expect([...served].filter((caller) => caller === 'b')).toHaveLength(30);
    expect([...served.slice(0, 8)].sort().join('')).toBe('aabbbbbb');
  });

  it('holds nothing against a caller that was served while nobody else was there', async () => {
    await add('a', 50);
    await serve(50);
    await room.queue.addAll([...entries('b', 4), ...entries('a', 4)]);
    expect(await serve(8)).toBe('babababa');
  });

  it('finds its place again when the rounds are lost while jobs wait', async () => {
    await add('a', 40);
    await serve(20);
    await room.redis.del(`${room.prefix}:rounds`);
    await add('b', 3);
    expect([...(await serve(8))].filter((caller) => caller === 'b')).toHaveLength(3);
  });

  it('H6: forty keys of one account get one share together, and another account is served as if it were one key', async () => {
    for (let n = 0; n < 40; n++) await room.queue.addAll(entries(key(`k${n}`, 100), 4));
    await add('b', 4);
    expect((await serve(9)).split(/(?=b|k)/).flatMap((who, place) => (who === 'b' ? [place + 1] : []))).toEqual([
      2, 4, 6, 8,
    ]);
  });

  it('H6: a key that weighs a hundred outweighs the keys of its own account and nobody else', async () => {
    await room.queue.addAll([...entries(key('x', 100), 150), ...entries(key('y'), 2), ...entries('b', 4)]);
    const served = await serve(10);
    expect([...served].filter((who) => who === 'b')).toHaveLength(4);
    expect(served).not.toContain('y');
  });

  it('H6: a key that comes later shares the turns its account has, ahead of a thousand jobs of its sibling', async () => {
    for (let n = 0; n < 10; n++) await room.queue.addAll(entries(key('x'), 100));
    await add('b', 20);
    expect(await serve(4)).toBe('xbxb');
    await add(key('y'), 3);
    await add(key('z', 2), 3);
    // Every other turn is b's all the same; the account's are shared by weight, though x took them all at first.
    const served = await serve(16);
    expect(served.replace(/[^b]/g, '')).toBe('bbbbbbbb');
    expect([...served.replaceAll('b', '').slice(0, 4)].sort().join('')).toBe('xyzz');
    expect(served.replaceAll('b', '')).toMatch(/^(?=.*y.*y)(?=.*z.*z.*z)/);
  });

  it('a task that is cancelled returns its account’s last turn, so those behind it move up', async () => {
    const added = await add('a', 4);
    await add('b', 4);
    await room.queue.remove(added[0] ?? { taskId: '', epoch: 0 });
    expect(await serve(2)).toBe('ab');
    for (const entry of added.slice(2)) await room.queue.remove(entry);
    await add('a', 1);
    // Its turn is the next round's, not that of a fifth task.
    expect(await serve(4)).toBe('babb');
    for (const name of ['line', 'turns']) expect(await room.redis.keys(`${room.prefix}:${name}:*`)).toEqual([]);
    expect(await room.redis.hlen(`${room.prefix}:accounts`)).toBe(0);
  });

  it('is as fair after 131,000 rounds without an empty queue: priorities are lowered while jobs wait', async () => {
    const last = 2 ** 21 - 1;
    await add('a', 3);
    await serve(1);
    // As it is after so many rounds: the jobs that wait, and the counters.
    const [one, two] = await room.redis.zrange(`${room.prefix}:images:prioritized`, '0', '-1');
    for (const [n, id = ''] of [one, two].entries()) {
      const turn = last - 40 + 16 * n;
      await room.redis.zadd(`${room.prefix}:images:prioritized`, (turn + 1) * 2 ** 32 + n, id);
      await room.redis.zadd(`${room.prefix}:turns:a`, turn, id);
    }
    await room.redis.hset(`${room.prefix}:rounds`, { now: last - 56, a: last - 24 });
    await room.queue.addAll(entries('a', 500));
    await add('b', 5);
    expect(await serve(10)).toBe('ababababab');
    const scores = await room.redis.zrange(`${room.prefix}:images:prioritized`, '0', '-1', 'WITHSCORES');
    const priorities = scores.filter((_, n) => n % 2 === 1).map((score) => Math.floor(Number(score) / 2 ** 32));
    expect(Math.max(...priorities)).toBeLessThan(16 * 600);
    // What BullMQ goes by when it puts a job back is lowered, too.
    const id = scores.at(-2) ?? '';
    expect(Number(await room.redis.hget(`${room.prefix}:images:${id}`, 'priority'))).toBe(priorities.at(-1));
  });

  it('finds the rounds again from the jobs that wait when they are lost after priorities were lowered', async () => {
    await room.redis.hset(`${room.prefix}:rounds`, { now: 5_000_000, base: 4_999_000 });
    await add('a', 40);
    await serve(20);
    const { now, base } = await room.redis.hgetall(`${room.prefix}:rounds`);
    await room.redis.del(`${room.prefix}:rounds`);
    await add('b', 3);
    const found = await room.redis.hgetall(`${room.prefix}:rounds`);
    expect([Number(found['now']), Number(found['base'])]).toEqual([Number(now), Number(base)]);
    expect([...(await serve(8))].filter((who) => who === 'b')).toHaveLength(3);
  });

  it('finds tasks and turns that were lost on their own, and leaves those alone that are on their way to a worker', async () => {
    const [one, two, three] = await add('a', 3);
    const all = [one, two, three] as QueueEntry[];
    expect(await room.queue.missing(all)).toEqual([]);
    // A turn's job is gone: the account has one turn less than tasks, so its last task has none.
    await room.redis.del(`${room.prefix}:images:${one?.taskId}-0`);
    expect(await room.queue.missing(all)).toEqual([three]);
    expect(await room.queue.missing(all)).toEqual([three]);
    await room.redis.zrem(`${room.prefix}:images:prioritized`, `${one?.taskId}-0`);
    // The second job runs the first task.
    const next = await room.order.served(`${two?.taskId}-0`);
    expect(next?.id).toBe(`${one?.taskId}-0`);
    expect(await room.queue.missing(all.slice(0, 1))).toEqual([]);
    await room.redis.del(`${room.prefix}:handed`);
    expect(await room.queue.missing(all.slice(0, 1))).toEqual([one]);
  });

  it('serves a task that comes back first, and gives forgotten ones the turns of their keys', async () => {
    for (let n = 0; n < 5; n++) callerOf.set((await room.inserts.insert(command(), 900_000)).id, 'f');
    await room.sql(`UPDATE tasks SET created_at = created_at - interval '1 minute'`);
    await room.sql(`UPDATE accounts SET weight = 2`);
    await add('a', 5);
    await room.newSweep().enqueueForgotten();
    const [back] = entries('r', 1);
    await room.queue.add({ taskId: back?.taskId ?? '', epoch: 1 });
    expect(await serve(7)).toMatch(/^r(ffa|faf){2}$/);
  });

  it('refuses to add when Redis is gone', async () => {
    await add('a', 1);
    room.redis.disconnect();
    await expect(room.queue.addAll(entries('a', 1))).rejects.toThrow();
  });
});
