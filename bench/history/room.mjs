// The dependencies of bench/history/recurring.mjs, on a database and a Redis of the benchmark.
import 'reflect-metadata';
import { Queue } from 'bullmq';
import { loadConfig } from '#config/load-config.js';
import { DatabaseConfig } from '#database/database.config.js';
import { PrismaService } from '#database/prisma.service.js';
import { FairOrder } from '#queue/fair-order.js';
import { ImageQueue } from '#queue/image-queue.js';
import { IMAGE_QUEUE } from '#queue/job-catalog.js';
import { senderOptions } from '#queue/queue-sender.js';
import { producerConnection } from '#redis/connections.js';
import { RedisConfig } from '#redis/redis.config.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { TaskEvents } from '#tasks/states/task-events.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { Logger } from '#telemetry/logger.js';
import { WebhooksConfig } from '#notifications/webhooks.config.js';
import { StatementWatch } from './watch.mjs';

/** One watched connection to the database; close it at the end. */
export async function openHistoryRoom({ databaseUrl, redisUrl, secretKey }) {
  const configs = loadConfig([DatabaseConfig, RedisConfig, TasksConfig, WebhooksConfig, SecretsConfig], {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    SECRET_KEY: secretKey,
    DATABASE_POOL: '1',
    // A slow statement should be measured, not canceled.
    DATABASE_QUERY_TIMEOUT_MS: '60000',
  });
  const [databaseConfig, redisConfig, tasksConfig, webhooksConfig, secretsConfig] = configs;
  const logger = new Logger('bench', 'silent');
  const database = new PrismaService(databaseConfig, logger);
  const watch = new StatementWatch(database.pool);
  const redis = producerConnection(redisConfig, logger);
  const sender = new Queue(IMAGE_QUEUE, senderOptions(redis, redisConfig));
  return {
    database,
    watch,
    redis,
    redisConfig,
    tasksConfig,
    webhooksConfig,
    secretsConfig,
    logger,
    queue: new ImageQueue(sender, redis, new FairOrder(redis, redisConfig)),
    events: new TaskEvents(redis, redisConfig),
    async close() {
      await sender.close();
      redis.disconnect();
      await database.close();
    },
  };
}
