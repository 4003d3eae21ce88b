import { Global, Module, type ModuleMetadata, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Logger } from '#telemetry/logger.js';
import { producerConnection, patientConnection } from './connections.js';
import { RedisConfig } from './redis.config.js';

/** The connection for short commands: enqueue, publish, counters. */
export const PRODUCER_REDIS = Symbol('producer redis');

/** Owns the connection that all short commands of a process share. */
@Module(owning(PRODUCER_REDIS, producerConnection))
export class ProducerRedisModule {}

/** The process's one connection for subscriptions, which can do nothing else. */
export const LISTENING_REDIS = Symbol('listening redis');

/** Owns the connection on which a process receives task events. */
@Module(owning(LISTENING_REDIS, (config, logger) => patientConnection(config, 'events', logger)))
export class ListeningRedisModule {}

/** The one connection that all workers of a process share; each has another for its blocking reads. */
export const JOBS_REDIS = Symbol('jobs redis');

/**
 * Owns the connection of the workers, which leave it to its owner when they close. Global, because where it exists, the
 * messages about a task's end take it, too.
 */
@Global()
@Module(owning(JOBS_REDIS, (config, logger) => patientConnection(config, 'jobs', logger)))
export class JobsRedisModule {}

/**
 * A module that provides a connection and closes it at shutdown. Nest stops a module before those that it imports, so
 * everything that uses the connection has stopped by then.
 */
function owning(token: symbol, connect: (config: RedisConfig, logger: Logger) => Redis): ModuleMetadata {
  const connection = { provide: token, inject: [RedisConfig, Logger], useFactory: connect };
  const closing = {
    provide: Symbol(`closes ${String(token.description)}`),
    inject: [token],
    useFactory: (redis: Redis): OnApplicationShutdown => ({ onApplicationShutdown: () => redis.disconnect() }),
  };
  return { providers: [connection, closing], exports: [connection] };
}
