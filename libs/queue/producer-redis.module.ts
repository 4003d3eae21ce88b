import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PRODUCER_REDIS, producerConnection } from './connections.js';
import { Logger } from '#telemetry/logger.js';
import { QueueConfig } from './queue.config.js';

const redis = { provide: PRODUCER_REDIS, inject: [QueueConfig, Logger], useFactory: producerConnection };

/** Owns the connection that all short commands of a process share. */
@Module({ providers: [redis], exports: [redis] })
export class ProducerRedisModule implements OnApplicationShutdown {
  constructor(@Inject(PRODUCER_REDIS) private readonly connection: Redis) {}

  /** Nest stops a module before those that it imports, so whoever sends through the connection has stopped by now. */
  onApplicationShutdown(): void {
    this.connection.disconnect();
  }
}
