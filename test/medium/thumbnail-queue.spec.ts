import { once } from 'node:events';
import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { loadConfig } from '#config/load-config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { parseCreateThumbnail, THUMBNAIL_QUEUE } from '#queue/job-catalog.js';
import { JOB_WORKER_OPTIONS } from '#queue/job-handlers.js';
import { patientConnection } from '#redis/connections.js';
import { RedisConfig } from '#redis/redis.config.js';
import { newTaskId } from '#tasks/row/task-id.js';
import { openTaskRoom, type TaskRoom } from '../support/task-room.js';

// Real: Redis and BullMQ.
describe('the queue of thumbnails', () => {
  let room: TaskRoom;
  let connection: Redis;
  beforeEach(async () => {
    room = await openTaskRoom();
    const [config] = loadConfig([RedisConfig], { REDIS_URL: room.redisUrl, REDIS_PREFIX: room.prefix });
    connection = patientConnection(config, 'test', room.logger);
  });
  afterEach(async () => {
    connection.disconnect();
    await room.close();
  });

  const ids = (count: number): string[] => Array.from({ length: count }, () => newTaskId());
  const order = (id: string): Promise<boolean> => room.thumbnailQueue.order(id);

  /** Runs jobs one by one like our worker, until so many have ended; returns their tasks. */
  async function serve(
    count: number,
    work: (id: string) => Promise<void> = () => Promise.resolve(),
  ): Promise<string[]> {
    const served: string[] = [];
    const options = { ...JOB_WORKER_OPTIONS, connection, prefix: room.prefix, concurrency: 1 };
    const worker = new Worker<unknown>(
      THUMBNAIL_QUEUE,
      async ({ data }) => {
        const { taskId } = parseCreateThumbnail(data);
        served.push(taskId);
        if (served.length === count) void worker.pause(true);
        await work(taskId);
      },
      options,
    );
    worker.on('error', () => undefined);
    void worker.run();
    const isDone = await waitUntil(() => served.length >= count, { timeoutMs: 30_000 });
    await worker.close();
    expect(isDone).toBe(true);
    return served;
  }

  it('has one job for an image however often it is ordered, and the newest first', async () => {
    const [first = '', second = '', third = ''] = ids(3);
    expect(await Promise.all([first, first].map(order))).toEqual([true, true]);
    for (const id of [second, third, first, second]) expect(await order(id)).toBe(true);
    expect(await serve(3)).toEqual([third, second, first]);
    // Nothing is left of jobs that ended well, so that a lost thumbnail can be created again.
    expect(await order(first)).toBe(true);
    expect(await serve(1)).toEqual([first]);
  });

  it('remembers what failed, and neither runs it again nor has anybody wait for it', async () => {
    const [damaged = '', other = ''] = ids(2);
    await order(damaged);
    await serve(1, () => Promise.reject(new Error('damaged')));
    expect(await order(damaged)).toBe(false);
    await order(other);
    expect(await serve(1)).toEqual([other]);
    expect(await room.redis.ttl(`${room.prefix}:${THUMBNAIL_QUEUE}:${damaged}`)).toBe(-1);
    expect(await room.redis.zcard(`${room.prefix}:${THUMBNAIL_QUEUE}:failed`)).toBe(1);
  });

  it('takes 500 that wait, and no more', async () => {
    const all = ids(500);
    for (const id of all) expect(await order(id)).toBe(true);
    const [late = ''] = ids(1);
    expect(await order(late)).toBe(false);
    // One that waits already is still waited for.
    expect(await order(all[0] ?? '')).toBe(true);
    await serve(1);
    expect(await order(late)).toBe(true);
  });

  it('throws at once without Redis', async () => {
    const gone = once(room.redis, 'end');
    room.redis.disconnect();
    await gone;
    await expect(order(newTaskId())).rejects.toThrow('Redis is not connected');
  });
});
