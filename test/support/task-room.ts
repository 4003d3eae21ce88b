import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { PrismaService } from '#database/prisma.service.js';
import { DatabaseConfig } from '#database/database.config.js';
import { loadConfig } from '#config/load-config.js';
import { patientConnection, producerConnection } from '#redis/connections.js';
import { FairOrder } from '#queue/fair-order.js';
import { ImageQueue } from '#queue/image-queue.js';
import { IMAGE_QUEUE, THUMBNAIL_QUEUE, WEBHOOK_QUEUE } from '#queue/job-catalog.js';
import { RedisConfig } from '#redis/redis.config.js';
import { QueueHealth } from '#queue/queue-health.js';
import { QueueLine } from '#queue/queue-line.js';
import { senderOptions } from '#queue/queue-sender.js';
import { ServiceTimes } from '#queue/service-times.js';
import { ThumbnailQueue } from '#queue/thumbnail-queue.js';
import { WebhookQueue } from '#queue/webhook-queue.js';
import { SweepTasks } from '#tasks/states/sweep-tasks.js';
import { TaskEvents, TaskEventListener } from '#tasks/states/task-events.js';
import { DepartedCallers } from '#tasks/intake/departed-callers.js';
import { EqualRequests } from '#tasks/intake/equal-requests.js';
import { InsertTasks } from '#tasks/intake/insert-tasks.js';
import { KeyedRequests } from '#tasks/intake/keyed-requests.js';
import { LostCallers } from '#tasks/intake/lost-callers.js';
import { TaskIntake } from '#tasks/intake/task-intake.js';
import { newRequestId, newTaskId } from '#tasks/row/task-id.js';
import { TaskTransitions } from '#tasks/states/task-transitions.js';
import { TaskSlots } from '#tasks/admission/task-slots.js';
import { TaskListStore } from '#tasks/reading/task-list-store.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import type { TaskCommand } from '#tasks/row/task.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { DeliveryLine } from '#notifications/deliveries/delivery-line.js';
import { DeliveryTransitions } from '#notifications/deliveries/delivery-transitions.js';
import { EnqueueDeliveries } from '#notifications/deliveries/enqueue-deliveries.js';
import { WebhooksConfig } from '#notifications/webhooks.config.js';
import { createTestDatabase } from './postgres.js';
import { createTestRedis } from './redis.js';

export const TEST_ACCOUNT = 'acct_default';
export const TEST_KEY = 'key_test';
/** Concurrent webhook deliveries per account. */
export const DELIVERIES_AT_ONCE = 4;

/** The real stores and queue on their own database and Redis prefix; nothing is mocked. */
export async function openTaskRoom(redisUrl?: string, redisTimeoutMs = redisUrl === undefined ? 20_000 : 3_000) {
  const testDatabase = await createTestDatabase();
  const testRedis = createTestRedis();
  const classes = [DatabaseConfig, RedisConfig, TasksConfig, WebhooksConfig] as const;
  const [databaseConfig, redisConfig, tasksConfig, webhooksConfig] = loadConfig(classes, {
    DATABASE_URL: testDatabase.url,
    REDIS_URL: redisUrl ?? testRedis.url,
    REDIS_PREFIX: testRedis.prefix,
    // A busy jest worker may process a response late. Tasks are forgotten some seconds after the sum of both, and tests
    // make them a minute old.
    DATABASE_CONNECT_TIMEOUT_MS: '15000',
    DATABASE_QUERY_TIMEOUT_MS: '15000',
    // A test with its own Redis makes it hang; the shared one is only slow. A jest worker that stalls longer than this
    // would time out, although the response has arrived.
    REDIS_COMMAND_TIMEOUT_MS: String(redisTimeoutMs),
    WEBHOOK_CONCURRENCY_PER_ACCOUNT: String(DELIVERIES_AT_ONCE),
  });
  const logger = new Logger('test', 'silent');
  const database = new PrismaService(databaseConfig, logger);
  const redis = producerConnection(redisConfig, logger);
  await ready(redis);
  const listening = patientConnection(redisConfig, 'events', logger);
  const senders = [IMAGE_QUEUE, WEBHOOK_QUEUE, THUMBNAIL_QUEUE].map(
    (name) => new Queue(name, senderOptions(redis, redisConfig)),
  );
  const [images, webhooks, thumbnails] = senders as [Queue, Queue, Queue];
  const order = new FairOrder(redis, redisConfig);
  const queue = new ImageQueue(images, redis, order);
  const webhookQueue = new WebhookQueue(webhooks, redis, redisConfig);
  const metrics = new Metrics();
  const deliveryTransitions = new DeliveryTransitions(database, webhooksConfig, metrics);
  const deliveryLine = new DeliveryLine(database, webhooksConfig);
  const slots = new TaskSlots(redis, redisConfig, tasksConfig, database);
  const health = new QueueHealth(redis, redisConfig);
  const store = new TaskStore(database);
  const events = new TaskEvents(redis, redisConfig);
  const listener = new TaskEventListener(listening, redisConfig);
  await database.pool.query(
    `INSERT INTO api_keys (id, account_id, name, prefix, hash, secret_id) VALUES ($1, $2, 'test', 'sk-dr-test', '\\x00', 'test')`,
    [TEST_KEY, TEST_ACCOUNT],
  );
  return {
    database,
    redis,
    order,
    queue,
    thumbnailQueue: new ThumbnailQueue(thumbnails, redis),
    line: new QueueLine(images, redis, order),
    times: new ServiceTimes(redis, redisConfig),
    health,
    events,
    listener,
    logger,
    metrics,
    prefix: testRedis.prefix,
    redisConfig,
    tasksConfig,
    redisUrl: redisConfig.redisUrl,
    databaseUrl: testDatabase.url,
    store,
    inserts: new InsertTasks(database),
    lists: new TaskListStore(database, store),
    transitions: new TaskTransitions(database),
    deliveryTransitions,
    deliveryLine,
    deliveries: new EnqueueDeliveries(deliveryLine, webhookQueue, logger),
    slots,
    lostCallers: new LostCallers(redis, redisConfig, database),
    newSweep: () => new SweepTasks(database, queue, events, slots, logger, metrics),
    /** Runs SQL, to make time pass for a task. */
    sql: (text: string, values: unknown[] = []) => database.pool.query(text, values),
    async close(): Promise<void> {
      listener.close();
      health.stop();
      for (const sender of senders) await sender.close();
      redis.disconnect();
      await database.close();
      if (redisUrl === undefined) await testRedis.clean();
      await testDatabase.drop();
    },
  };
}

export type TaskRoom = Awaited<ReturnType<typeof openTaskRoom>>;

/** The intake of a process, which shares nothing with that of another but the database. */
export function newIntake(database: PrismaService, config: TasksConfig, lost: LostCallers) {
  const inserts = new InsertTasks(database);
  const departed = new DepartedCallers(database);
  const keyed = new KeyedRequests(database, inserts, new TaskStore(database));
  const equal = new EqualRequests(database, config, inserts, departed, lost);
  return { intake: new TaskIntake(database, inserts, keyed, equal, departed), departed };
}

/** A valid command for a 1k square image. */
export function command(changes: Partial<TaskCommand> = {}): TaskCommand {
  return {
    id: newTaskId(),
    accountId: TEST_ACCOUNT,
    apiKeyId: TEST_KEY,
    originalKeyId: changes.apiKeyId ?? TEST_KEY,
    accountWeight: 1,
    weight: 1,
    requestId: newRequestId(),
    action: 'generation',
    model: 'gpt-image-2',
    prompt: 'a lighthouse at dusk',
    options: {
      size: '1:1',
      resolution: '1k',
      pixels: { width: 1024, height: 1024 },
      quality: null,
      background: null,
      moderation: null,
      inputFidelity: null,
      outputFormat: 'png',
      outputCompression: null,
      user: null,
    },
    inputs: [],
    mask: null,
    callbackUrl: null,
    asynchronous: false,
    cost: null,
    ...changes,
  };
}

async function ready(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return;
  await new Promise<void>((resolve, reject) => {
    redis.once('ready', resolve);
    redis.once('error', reject);
  });
}
