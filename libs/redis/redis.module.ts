import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Logger } from '#telemetry/logger.js';
import { producerConnection, patientConnection } from './connections.js';
import { RedisConfig } from './redis.config.js';

/** The connection for short commands: enqueue, publish, counters. */
export const PRODUCER_REDIS = Symbol('producer redis');

const producer = { provide: PRODUCER_REDIS, inject: [RedisConfig, Logger], useFactory: producerConnection };

/** Owns the connection that all short commands of a process share. */
@Module({ providers: [producer], exports: [producer] })
export class ProducerRedisModule implements OnApplicationShutdown {
  constructor(@Inject(PRODUCER_REDIS) private readonly connection: Redis) {}

  /** Nest stops a module before those that it imports, so everything that uses the connection has stopped by now. */
  onApplicationShutdown(): void {
    this.connection.disconnect();
  }
}

/** The process's one connection for subscriptions, which can do nothing else. */
export const LISTENING_REDIS = Symbol('listening redis');

const listening = {
  provide: LISTENING_REDIS,
  inject: [RedisConfig, Logger],
  useFactory: (config: RedisConfig, logger: Logger) => patientConnection(config, 'events', logger),
};

/** Owns the connection on which a process receives task events. */
@Module({ providers: [listening], exports: [listening] })
export class ListeningRedisModule implements OnApplicationShutdown {
  constructor(@Inject(LISTENING_REDIS) private readonly connection: Redis) {}

  onApplicationShutdown(): void {
    this.connection.disconnect();
  }
}

export const JOBS_REDIS = Symbol('jobs redis');

const jobs = {
  provide: JOBS_REDIS,
  inject: [RedisConfig, Logger],
  useFactory: (config: RedisConfig, logger: Logger) => patientConnection(config, 'jobs', logger),
};

/**
 * The one connection that all workers of a process share; each has another for its blocking reads. Global, because
 * where it exists, the messages about a task's end take it, too.
 */
@Global()
@Module({ providers: [jobs], exports: [jobs] })
export class JobsRedisModule implements OnApplicationShutdown {
  constructor(@Inject(JOBS_REDIS) private readonly connection: Redis) {}

  /** By now the workers have closed; they leave the shared connection to its owner. */
  onApplicationShutdown(): void {
    this.connection.disconnect();
  }
}
