import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Queue } from 'bullmq';
import { loadConfig } from '#config/load-config.js';
import { startRedis } from '#embedded/redis.js';
import { waitUntil } from '#embedded/wait-until.js';
import { producerConnection } from '#redis/connections.js';
import { DELIVER_WEBHOOK, WEBHOOK_QUEUE } from '#queue/job-catalog.js';
import { senderOptions, whileConnected } from '#queue/queue-sender.js';
import { RedisConfig } from '#redis/redis.config.js';
import { Logger } from '#telemetry/logger.js';
import { freePort } from '../support/free-port.js';

/** On a Redis of its own, which falls silent. */
describe('the sending end of a queue', () => {
  let folder: string;
  let service: Awaited<ReturnType<typeof startRedis>>;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-sender-'));
    service = await startRedis({
      folder: join(folder, 'redis'),
      password: 'sender',
      log: join(folder, 'redis.log'),
      toolFolders: [resolve('node_modules', '.cache', 'darkroom')],
      port: await freePort(),
    });
  });
  afterAll(async () => {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('takes jobs once Redis answers, though it fell silent at the moment it was connected', async () => {
    const [config] = loadConfig([RedisConfig], { REDIS_URL: service.url, REDIS_COMMAND_TIMEOUT_MS: '300' });
    const redis = producerConnection(config, new Logger('test', 'silent'));
    redis.once('ready', () => process.kill(service.pid, 'SIGSTOP'));
    const queue = new Queue(WEBHOOK_QUEUE, senderOptions(redis, config));
    queue.on('error', () => undefined);
    const add = async (): Promise<unknown> => whileConnected(queue, redis).add(DELIVER_WEBHOOK, {});
    try {
      await expect(add()).rejects.toThrow('Redis is not connected');
      expect(await waitUntil(() => Promise.resolve(redis.status === 'ready'), { timeoutMs: 30_000 })).toBe(true);
      await expect(add()).rejects.toThrow('Command timed out');
      process.kill(service.pid, 'SIGCONT');
      expect(await waitUntil(() => add().then(Boolean, () => false), { timeoutMs: 30_000 })).toBe(true);
    } finally {
      process.kill(service.pid, 'SIGCONT');
      await queue.close();
      redis.disconnect();
    }
  });
});
