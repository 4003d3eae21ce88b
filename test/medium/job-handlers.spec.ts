import { Processor, WorkerHost } from '@nestjs/bullmq';
import { Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ConfigModule } from '#config/config.module.js';
import {
  CREATE_THUMBNAIL,
  DELIVER_WEBHOOK,
  IMAGE_QUEUE,
  RUN_IMAGE_TASK,
  THUMBNAIL_QUEUE,
  WEBHOOK_QUEUE,
} from '#queue/job-catalog.js';
import { HandlesJob, JOB_WORKER_OPTIONS } from '#queue/job-handlers.js';
import { JobsModule } from '#queue/queue.module.js';
import { RedisConfig } from '#redis/redis.config.js';
import { TelemetryConfig, TracingConfig, MetricsConfig } from '#telemetry/telemetry.config.js';
import { TelemetryModule } from '#telemetry/telemetry.module.js';
import { createTestRedis } from '../support/redis.js';

class Handler extends WorkerHost {
  override async process(): Promise<void> {
    // No job is ever taken: the workers do not run.
  }
}

@Processor(IMAGE_QUEUE, JOB_WORKER_OPTIONS)
@HandlesJob(RUN_IMAGE_TASK)
class Images extends Handler {}

@Processor(IMAGE_QUEUE, JOB_WORKER_OPTIONS)
@HandlesJob(RUN_IMAGE_TASK)
class MoreImages extends Handler {}

@Processor(WEBHOOK_QUEUE, JOB_WORKER_OPTIONS)
@HandlesJob(DELIVER_WEBHOOK)
class Webhooks extends Handler {}

@Processor(THUMBNAIL_QUEUE, JOB_WORKER_OPTIONS)
@HandlesJob(CREATE_THUMBNAIL)
class Thumbnails extends Handler {}

@Processor(IMAGE_QUEUE, JOB_WORKER_OPTIONS)
@HandlesJob(DELIVER_WEBHOOK)
class Misplaced extends Handler {}

describe('a worker', () => {
  const redis = createTestRedis();
  afterAll(() => redis.clean());

  async function start(...processors: Type[]): Promise<void> {
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: redis.prefix, LOG_LEVEL: 'silent' };
    @Module({
      imports: [
        ConfigModule.forRoot([RedisConfig, TelemetryConfig, MetricsConfig, TracingConfig], env),
        TelemetryModule.forRoot('test'),
        JobsModule,
      ],
      providers: processors,
    })
    class Processes {}
    const app = await NestFactory.create(Processes, new FastifyAdapter(), { logger: false, abortOnError: false });
    try {
      await app.init();
    } finally {
      await app.close();
    }
  }

  it('starts with one handler for every job', async () => {
    await expect(start(Images, Webhooks, Thumbnails)).resolves.toBeUndefined();
  });

  it('does not start with a job that nobody handles, or two do, or at the wrong queue', async () => {
    await expect(start(Images, Thumbnails)).rejects.toThrow(`the job ${DELIVER_WEBHOOK} has 0 handlers, not one`);
    await expect(start(Images, MoreImages, Webhooks, Thumbnails)).rejects.toThrow(
      `the job ${RUN_IMAGE_TASK} has 2 handlers, not one`,
    );
    await expect(start(Images, Misplaced, Thumbnails)).rejects.toThrow(
      `the handler of ${DELIVER_WEBHOOK} does not serve the queue ${WEBHOOK_QUEUE}`,
    );
  });
});
