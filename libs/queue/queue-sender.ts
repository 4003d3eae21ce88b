import type { Queue, QueueOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import type { RedisConfig } from '#redis/redis.config.js';

/**
 * Names of the queues' sending ends, for @InjectQueue. They are not the queues' own names, because @Processor would take
 * the sender's connection for its worker, and that gives up where a worker has to wait (docs/decisions, 2026-11-22-queue-senders).
 */
export const IMAGE_SENDER = 'images sender';
export const WEBHOOK_SENDER = 'webhooks sender';

/**
 * For the sending end of every queue. BullMQ would ask Redis for its version once and remember a failure for ever, so
 * only the workers ask.
 */
export function senderOptions(connection: Redis, { redisPrefix: prefix }: RedisConfig): QueueOptions {
  return { connection, prefix, skipVersionCheck: true };
}

/** Throws when Redis is not connected: BullMQ would wait for the first connection without limit. */
export function whileConnected(queue: Queue, redis: Redis): Queue {
  if (redis.status !== 'ready') throw new Error('Redis is not connected');
  return queue;
}
