import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { IMAGE_QUEUE } from '#queue/job-catalog.js';
import { patient } from '../support/patience.js';
import { createTestRedis, type TestRedis } from '../support/redis.js';

/** What one step of a priority is in a score. */
const SCORE = 2 ** 32;

// Real: BullMQ and Redis. Our scripts read and write BullMQ's own keys; see docs/decisions/2026-11-28-private-parts.md.
describe('the keys of BullMQ that the scripts of the fair order use', () => {
  let server: TestRedis;
  let redis: Redis;
  let queue: Queue;
  let worker: Worker;
  const key = (name: string): string => `${server.prefix}:${IMAGE_QUEUE}:${name}`;

  beforeEach(() => {
    server = createTestRedis();
    redis = new Redis(server.url, { maxRetriesPerRequest: null, commandTimeout: patient(10_000) });
    const options = { connection: redis, prefix: server.prefix };
    queue = new Queue(IMAGE_QUEUE, options);
    worker = new Worker(IMAGE_QUEUE, null, { ...options, autorun: false });
  });
  afterEach(async () => {
    await worker.close();
    await queue.close();
    redis.disconnect();
    await server.clean();
  });

  const add = (jobId: string, priority: number) => queue.add('job', {}, { jobId, priority });
  const scoreOf = async (jobId: string): Promise<number> => Number(await redis.zscore(key('prioritized'), jobId));

  it('have a score of the priority times 2^32 plus a counter, up to a priority of 2^21 - 1', async () => {
    await add('a', 3);
    await add('b', 3);
    await add('last', 2 ** 21 - 1);
    expect([await scoreOf('a'), await scoreOf('b')].map((score) => Math.floor(score / SCORE))).toEqual([3, 3]);
    expect(await scoreOf('b')).toBe((await scoreOf('a')) + 1);
    expect(Math.floor((await scoreOf('last')) / SCORE)).toBe(2 ** 21 - 1);
    await expect(add('beyond', 2 ** 21 + 1)).rejects.toThrow(/priority/i);
    expect(await redis.hget(key('a'), 'priority')).toBe('3');
  });

  it('serve a job by the score that a script gave it', async () => {
    await add('a', 8);
    await add('b', 9);
    await redis.zadd(key('prioritized'), (await scoreOf('b')) - 4 * SCORE, 'b');
    await redis.hset(key('b'), 'priority', 5);
    const jobs = [await worker.getNextJob('token'), await worker.getNextJob('token')];
    expect(jobs.map((job) => [job.id, job.priority])).toEqual([
      ['b', 5],
      ['a', 8],
    ]);
  });

  it('list delayed jobs in `delayed`, where the line of a provider looks for them', async () => {
    await queue.add('job', {}, { jobId: 'late', delay: 3_600_000 });
    expect(await redis.zscore(key('delayed'), 'late')).not.toBeNull();
    expect(await redis.exists(key('late'))).toBe(1);
  });

  it('list running jobs in `active`, those without a priority in `wait`, and mark that some wait', async () => {
    await add('a', 3);
    await add('b', 3);
    expect(await redis.zscore(key('marker'), '0')).toBe('0');
    await redis.del(key('marker'));
    expect((await worker.getNextJob('token')).id).toBe('a');
    expect(await redis.lrange(key('active'), 0, -1)).toEqual(['a']);
    // Wakes another worker, also in vain.
    expect(await redis.zscore(key('marker'), '0')).toBe('0');
    await queue.add('job', {}, { jobId: 'plain' });
    expect(await redis.lrange(key('wait'), 0, -1)).toEqual(['plain']);
  });
});
