import { readFileSync } from 'node:fs';
import type { RedisOptions } from 'ioredis';
import { GatheringRedis } from './gathering-redis.js';
import { MasterConnector } from './master-connector.js';
import { sentinelAddress, serverAddress } from './redis-address.js';
import type { RedisConfig } from './redis.config.js';

/** The address of Redis, the authority that signed its certificate, and the login of its Sentinels. */
export type RedisServer = Pick<
  RedisConfig,
  'redisUrl' | 'redisCaFile' | 'redisSentinelUsername' | 'redisSentinelPassword'
>;

/** Options of a connection, such as its timeouts and retries. */
type Manner = Omit<RedisOptions, 'replyMapping' | 'tls'>;

/** Connects to the configured server, or to the master that its Sentinels name, also after a failover. */
export function connectRedis(server: RedisServer, options: Manner): GatheringRedis {
  const { redisUrl, redisCaFile } = server;
  const tls = redisCaFile === undefined ? {} : { ca: readFileSync(redisCaFile) };
  const direct = serverAddress(redisUrl);
  if (direct !== undefined) {
    const { tls: hasTls, ...server } = direct;
    return new GatheringRedis({ ...options, ...server, ...(hasTls && { tls }) });
  }
  const address = sentinelAddress(redisUrl);
  if (address === undefined) throw new TypeError('REDIS_URL has no supported form');
  const { sentinels, group, username, password, db } = address;
  return new GatheringRedis({
    ...options,
    Connector: MasterConnector,
    sentinels: [...sentinels],
    name: group,
    username,
    password,
    db,
    sentinelUsername: server.redisSentinelUsername,
    sentinelPassword: server.redisSentinelPassword,
    sentinelCommandTimeout: 2_000,
    sentinelRetryStrategy: (times) => options.retryStrategy?.(times) ?? null,
    // A demoted master keeps its connections, but a subscription to it no longer receives anything.
    failoverDetector: true,
    ...(address.tls && { tls, sentinelTLS: tls, enableTLSForSentinelMode: true }),
  });
}
