import type { RedisOptions } from 'ioredis';
import type { Logger } from '#telemetry/logger.js';
import { connectRedis } from './connect-redis.js';
import type { GatheringRedis } from './gathering-redis.js';
import type { RedisConfig } from './redis.config.js';

/** Quick first tries, then every 2 s: waiting longer than Redis was down would only prolong an outage. */
function reconnectDelay(times: number): number {
  return Math.min(100 * 2 ** times, 2_000);
}

/** A server that became a replica keeps its connections: reconnects to the master and resends the command there. */
function afterError(error: Error): 2 | false {
  return error.message.startsWith('READONLY') ? 2 : false;
}

const shared = {
  retryStrategy: reconnectDelay,
  reconnectOnError: afterError,
  connectTimeout: 5_000,
  keepAlive: 10_000,
  enableReadyCheck: true,
} satisfies RedisOptions;

/** For commands on behalf of a waiting caller: fails within the command timeout, and never queues commands. */
export function producerConnection(config: RedisConfig, logger: Logger): GatheringRedis {
  const redis = connectRedis(config, {
    ...shared,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: config.commandTimeoutMs,
  });
  return watched(redis, 'producer', logger);
}

/** For BullMQ's blocking reads and for subscriptions: waits for Redis as long as it takes. */
export function patientConnection(config: RedisConfig, name: string, logger: Logger): GatheringRedis {
  return watched(connectRedis(config, { ...shared, maxRetriesPerRequest: null }), name, logger);
}

/** Logs one line per outage, because ioredis emits an event for each failed try. */
function watched(redis: GatheringRedis, name: string, logger: Logger): GatheringRedis {
  let down = false;
  redis.on('error', (error: Error) => {
    if (!down) logger.warn('redis.unreachable', { reason: name, error });
    down = true;
  });
  redis.on('ready', () => {
    if (down) logger.info('redis.reachable', { reason: name });
    down = false;
  });
  return redis;
}
