import { PassThrough } from 'node:stream';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import type { ProviderEntry } from '#providers/provider-entry.js';
import { loadConfig } from '#config/load-config.js';
import { DatabaseConfig } from '#database/database.config.js';
import { PrismaService } from '#database/prisma.service.js';
import { waitUntil } from '#embedded/wait-until.js';
import { producerConnection } from '#redis/connections.js';
import { RedisConfig } from '#redis/redis.config.js';
import { FairOrder } from '#queue/fair-order.js';
import { ImageQueue } from '#queue/image-queue.js';
import { IMAGE_QUEUE } from '#queue/job-catalog.js';
import { QueueHealth } from '#queue/queue-health.js';
import { senderOptions } from '#queue/queue-sender.js';
import { CallHistory } from '#routing/call-history.js';
import { DrainedProviders, ProviderSwitches } from '#routing/provider-switches.js';
import { LimiterState } from '#routing/limiter-state.js';
import type { Asking, CallPermit, CallRejection } from '#routing/call-permit.js';
import { ProviderLimiter } from '#routing/provider-limiter.js';
import { RoutingConfig } from '#routing/routing.config.js';
import { SharedLimiter } from '#routing/shared-limiter.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { patientSetting } from './patience.js';
import { createTestDatabase } from './postgres.js';
import { createTestRedis } from './redis.js';

interface Addresses {
  readonly redisUrl?: string;
  readonly databaseUrl?: string;
}

/** Short enough that tests see leases and pauses end, but longer than a busy machine may stall. */
export const SLOT_LEASE_MS = Number(patientSetting(2_000, 20_000));
export const PAUSE_MS = Number(patientSetting(1_000, 15_000));
const SETTINGS = {
  PROVIDER_FAILURES: '3',
  PROVIDER_PAUSE_MS: String(PAUSE_MS),
};

/** A database and a Redis prefix of its own, and any number of limiters on them, each like in a separate process. */
export async function openLimiterRoom({ slotLeaseMs = SLOT_LEASE_MS }: { readonly slotLeaseMs?: number } = {}) {
  const testDatabase = await createTestDatabase();
  const testRedis = createTestRedis();
  const open = new Set<{ kill(): Promise<void> }>();

  async function limiter({ redisUrl = testRedis.url, databaseUrl = testDatabase.url }: Addresses = {}) {
    const lines = new PassThrough();
    let log = '';
    lines.on('data', (chunk: Buffer) => (log += chunk.toString()));
    const [redisConfig, databaseConfig, routing] = loadConfig([RedisConfig, DatabaseConfig, RoutingConfig], {
      ...SETTINGS,
      REDIS_URL: redisUrl,
      REDIS_PREFIX: testRedis.prefix,
      DATABASE_URL: databaseUrl,
      // Short only for the services of a test of its own, which may fail.
      DATABASE_QUERY_TIMEOUT_MS: databaseUrl === testDatabase.url ? patientSetting(20_000) : patientSetting(1_000),
      ...(databaseUrl === testDatabase.url && { DATABASE_CONNECT_TIMEOUT_MS: patientSetting(20_000) }),
      REDIS_COMMAND_TIMEOUT_MS:
        redisUrl === testRedis.url ? patientSetting(20_000, 60_000) : patientSetting(2_000, 60_000),
    });
    const config = { ...routing, slotLeaseMs, switchReadMs: 100, keyPauseMs: PAUSE_MS };
    const logger = new Logger('test', 'info', lines);
    const redis = producerConnection(redisConfig, logger);
    const database = new PrismaService(databaseConfig, logger);
    const state = new LimiterState(redis, redisConfig, config);
    const health = new QueueHealth(redis, redisConfig);
    const switches = new ProviderSwitches(database);
    const drained = new DrainedProviders(switches, config, logger);
    const metrics = new Metrics();
    const images = new Queue(IMAGE_QUEUE, senderOptions(redis, redisConfig));
    const queue = new ImageQueue(images, redis, new FairOrder(redis, redisConfig));
    const asked = new ProviderLimiter(new SharedLimiter(state, health, logger), drained, config, metrics, queue);
    await waitUntil(() => redis.status === 'ready', { timeoutMs: 30_000 });
    await drained.start();
    const opened = {
      /** Asks for a call to a provider's only server, with a key. */
      enter: (entry: ProviderEntry, key: string, task: string, asking?: Asking) =>
        asked.enter([{ provider: entry, key: { name: key } }], task, asking),
      limiter: asked,
      state,
      queue,
      health,
      drained,
      switches,
      history: new CallHistory(redis, redisConfig),
      database,
      metrics,
      /** Number of log lines with this event. */
      logged: (event: string) => log.split('\n').filter((line) => line.includes(`"event":"${event}"`)).length,
      /** Stops it without a clean-up, as if its process were killed. */
      async kill(): Promise<void> {
        redis.disconnect();
        health.stop();
        drained.close();
        await asked.close();
        await database.close();
        open.delete(opened);
      },
    };
    open.add(opened);
    return opened;
  }

  const redis = new Redis(testRedis.url);
  return {
    limiter,
    /** The test's own connection. */
    redis,
    redisUrl: testRedis.url,
    databaseUrl: testDatabase.url,
    prefix: testRedis.prefix,
    async close(): Promise<void> {
      for (const one of [...open]) await one.kill();
      redis.disconnect();
      await testRedis.clean();
      await testDatabase.drop();
    },
  };
}

export type LimiterRoom = Awaited<ReturnType<typeof openLimiterRoom>>;
export type OpenLimiter = Awaited<ReturnType<LimiterRoom['limiter']>>;

/** Waits until Redis's clock shows a later millisecond: two tasks that join a line in the same one have no order. */
export async function nextMillisecond(redis: Redis): Promise<void> {
  const now = async (): Promise<number> => {
    const [seconds, microseconds] = await redis.time();
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  };
  const began = await now();
  while ((await now()) <= began);
}

/** A provider with only these limits. */
export function providerEntry(name: string, limits: Partial<ProviderEntry['limits']> = {}): ProviderEntry {
  return {
    name,
    type: 'openai',
    baseUrl: undefined,
    keys: [],
    limits: { concurrency: undefined, startsPerMinute: undefined, ...limits },
    interrupted: 'fail',
    free: false,
    options: {},
  };
}

/** The permit; throws when the call was rejected. */
export function passed(answer: CallPermit | CallRejection): CallPermit {
  if ('reason' in answer) throw new Error(`refused: ${answer.reason}`);
  return answer;
}

/** Why the call was rejected; undefined when it was not. */
export function reasonOf(answer: CallPermit | CallRejection): string | undefined {
  return 'reason' in answer ? answer.reason : undefined;
}
