import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Logger } from '#telemetry/logger.js';
import { patientConnection } from './connections.js';
import { RedisConfig } from './redis.config.js';

export const JOBS_REDIS = Symbol('jobs redis');

const redis = {
  provide: JOBS_REDIS,
  inject: [RedisConfig, Logger],
  useFactory: (config: RedisConfig, logger: Logger) => patientConnection(config, 'jobs', logger),
};

/** The one connection that all workers of a process share; each has another for its blocking reads. */
@Module({ providers: [redis], exports: [redis] })
export class JobsRedisModule implements OnApplicationShutdown {
  constructor(@Inject(JOBS_REDIS) private readonly connection: Redis) {}

  /** The workers have closed by then, and leave what they share to its owner. */
  onApplicationShutdown(): void {
    this.connection.disconnect();
  }
}
