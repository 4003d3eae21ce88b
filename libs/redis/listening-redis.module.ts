import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Logger } from '#telemetry/logger.js';
import { patientConnection } from './connections.js';
import { RedisConfig } from './redis.config.js';

/** The one connection of a process that is subscribed: it can do nothing else. */
export const LISTENING_REDIS = Symbol('listening redis');

const redis = {
  provide: LISTENING_REDIS,
  inject: [RedisConfig, Logger],
  useFactory: (config: RedisConfig, logger: Logger) => patientConnection(config, 'events', logger),
};

/** Owns the connection on which a process hears of tasks. */
@Module({ providers: [redis], exports: [redis] })
export class ListeningRedisModule implements OnApplicationShutdown {
  constructor(@Inject(LISTENING_REDIS) private readonly connection: Redis) {}

  onApplicationShutdown(): void {
    this.connection.disconnect();
  }
}
