import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import type { Redis } from 'ioredis';
import { JOBS_REDIS, JobsRedisModule } from '#redis/jobs-redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';
import { JobHandlers } from './job-handlers.js';

/** For processes that take jobs: lets @Processor make their workers, once every job has its handler. */
@Module({
  imports: [
    DiscoveryModule,
    BullModule.forRootAsync({
      imports: [JobsRedisModule],
      inject: [JOBS_REDIS, RedisConfig],
      useFactory: (connection: Redis, config: RedisConfig) => ({ connection, prefix: config.redisPrefix }),
    }),
    // Without it there is no queue to send to here, but what finds the processors.
    BullModule.registerQueue(),
  ],
  providers: [JobHandlers],
})
export class JobsModule {}
