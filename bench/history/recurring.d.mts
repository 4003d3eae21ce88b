import type { Redis } from 'ioredis';
import type { PrismaService } from '#database/prisma.service.js';
import type { ImageQueue } from '#queue/image-queue.js';
import type { RedisConfig } from '#redis/redis.config.js';
import type { SecretsConfig } from '#secrets/secrets.config.js';
import type { TaskEvents } from '#tasks/states/task-events.js';
import type { TasksConfig } from '#tasks/row/tasks.config.js';
import type { Logger } from '#telemetry/logger.js';
import type { WebhooksConfig } from '#notifications/webhooks.config.js';

/** What recurring work needs besides the database. */
export interface RecurringRoom {
  readonly redis: Redis;
  readonly redisConfig: RedisConfig;
  readonly tasksConfig: TasksConfig;
  readonly webhooksConfig: WebhooksConfig;
  readonly secretsConfig: SecretsConfig;
  readonly queue: ImageQueue;
  readonly events: TaskEvents;
  readonly logger: Logger;
}

/** `time` is the number of the run, from 0: work that removes rows finds due rows each time. */
export type RecurringWork = readonly [name: string, run: (time: number) => Promise<unknown>];

/** Every recurring statement of the API, the worker and the console, on a history of fillHistory. */
export function recurring(
  database: PrismaService,
  room: RecurringRoom,
  history: { readonly tasks: number; readonly accountId: string },
): Promise<RecurringWork[]>;
