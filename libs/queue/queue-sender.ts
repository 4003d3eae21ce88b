import type { Queue, QueueOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import type { RedisConfig } from '#redis/redis.config.js';

/**
 * Names of the queues' producers, for @InjectQueue. They are not the queues' own names, because @Processor would give
 * its worker the producer's connection, which gives up where a worker waits (docs/decisions, 2026-11-22-queue-senders).
 */
export const IMAGE_SENDER = 'images sender';
export const WEBHOOK_SENDER = 'webhooks sender';
export const THUMBNAIL_SENDER = 'thumbnails sender';

/**
 * Options for the producer of every queue. BullMQ would ask Redis for its version once and remember a failure forever,
 * so only the workers ask.
 */
export function senderOptions(connection: Redis, { redisPrefix: prefix }: RedisConfig): QueueOptions {
  return { connection, prefix, skipVersionCheck: true };
}

/** Throws when Redis is not connected: BullMQ would wait for the first connection without limit. */
export function whileConnected(queue: Queue, redis: Redis): Queue {
  if (redis.status !== 'ready') throw new Error('Redis is not connected');
  return queue;
}
