import { Worker } from 'bullmq';
import { patientConnection } from '#queue/connections.js';
import { loadConfig } from '#config/load-config.js';
import { QueueConfig } from '#queue/queue.config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { newTaskId } from '#tasks/task-id.js';
import { openTaskRoom, command, type TaskRoom } from '../support/task-room.js';

describe('the fair order', () => {
  let room: TaskRoom;
  const callerOf = new Map<string, string>();
  beforeEach(async () => {
    room = await openTaskRoom();
    callerOf.clear();
  });
  afterEach(() => room.close());

  const entries = (apiKeyId: string, count: number, weight = 1) =>
    Array.from({ length: count }, () => {
      const taskId = newTaskId();
      callerOf.set(taskId, apiKeyId);
      return { taskId, epoch: 0, caller: { apiKeyId, weight } };
    });
  const add = (apiKeyId: string, count: number, weight?: number) =>
    Promise.all(entries(apiKeyId, count, weight).map((entry) => room.queue.add(entry)));

  /** Starts jobs one by one, like our worker does, and tells whose they were. */
  async function serve(count: number): Promise<string> {
    const [config] = loadConfig([QueueConfig], { REDIS_URL: room.redisUrl, REDIS_PREFIX: room.prefix });
    const connection = patientConnection(config, 'test', room.logger);
    const served: string[] = [];
    const worker = new Worker<{ taskId: string }>(
      'images',
      async (job) => {
        await room.queue.started(job.opts.priority ?? 0);
        served.push(callerOf.get(job.data.taskId) ?? '?');
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
    const [busy, idle] = [
      { apiKeyId: 'a', weight: 1 },
      { apiKeyId: 'b', weight: 1 },
    ];
    const rounds = await room.redis.hgetall(`${room.prefix}:rounds`);
    expect(await room.queue.takeTurn(busy, 5)).toEqual({ priority: undefined, before: 6 });
    expect(await room.redis.hgetall(`${room.prefix}:rounds`)).toEqual(rounds);
    expect(await room.queue.takeTurn(busy, 6)).toMatchObject({ before: 6 });
    const turn = await room.queue.takeTurn(idle, 5);
    expect(turn.before).toBe(1);
    await room.queue.giveBackTurn(idle);
    expect(await room.queue.takeTurn(idle)).toEqual(turn);
  });

  it('gives a key of weight three three turns to each of the others', async () => {
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

  it('begins anew when the range of priorities is used up and nobody waits, and never leaves it', async () => {
    const last = 2 ** 21 - 1;
    await room.redis.hset(`${room.prefix}:rounds`, { now: last - 20, a: last });
    await add('x', 1); // nobody waits: the rounds begin anew
    expect(Number(await room.redis.hget(`${room.prefix}:rounds`, 'x'))).toBe(16);
    await room.redis.hset(`${room.prefix}:rounds`, { now: last - 20, a: last });
    await add('a', 2);
    await add('b', 1);
    expect(await serve(4)).toBe('xbaa');
  });

  it('serves a task that comes back first, and gives forgotten ones the turns of their keys', async () => {
    for (let n = 0; n < 5; n++) callerOf.set((await room.store.insert(command(), 900_000)).id, 'f');
    await room.sql(`UPDATE tasks SET created_at = created_at - interval '1 minute'`);
    await room.sql(`UPDATE api_keys SET weight = 2`);
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
