import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import type { Redis } from 'ioredis';
import { JobHandlers } from './job-handlers.js';
import { JOBS_REDIS, JobsRedisModule } from './jobs-redis.module.js';
import { QueueConfig } from './queue.config.js';

/** For processes that take jobs: lets @Processor make their workers, once every job has its handler. */
@Module({
  imports: [
    DiscoveryModule,
    BullModule.forRootAsync({
      imports: [JobsRedisModule],
      inject: [JOBS_REDIS, QueueConfig],
      useFactory: (connection: Redis, config: QueueConfig) => ({ connection, prefix: config.redisPrefix }),
    }),
    // Without it there is no queue to send to here, but what finds the processors.
    BullModule.registerQueue(),
  ],
  providers: [JobHandlers],
})
export class JobsModule {}
