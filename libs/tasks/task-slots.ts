import type { Redis } from 'ioredis';
import { RedisScript } from '#queue/redis-script.js';

/** KEYS: the running tasks of an API key by their deadlines; ARGV: task, limit, ms until its deadline. */
const TAKE = new RedisScript(`
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
  redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return 1`);

/**
 * How many tasks each API key has in flight, at all processes together. A place that nobody gives back is free again
 * at its task's deadline, so losing a command, or Redis, never locks a caller out for longer.
 */
export class TaskSlots {
  constructor(
    private readonly redis: Redis,
    private readonly prefix: string,
    /** Tasks per key; 0 = any number, and nothing is counted. */
    private readonly limit: number,
  ) {}

  /** False when the key has as many as it may. Throws when Redis does not answer. */
  async take(apiKeyId: string, taskId: string, deadlineMs: number): Promise<boolean> {
    if (this.limit === 0) return true;
    return (await TAKE.run(this.redis, [this.keyOf(apiKeyId)], [taskId, this.limit, deadlineMs])) === 1;
  }

  /** The task has ended, or never came to be. */
  free(apiKeyId: string, taskId: string): void {
    if (this.limit === 0) return;
    this.redis.zrem(this.keyOf(apiKeyId), taskId).catch(() => undefined);
  }

  private keyOf(apiKeyId: string): string {
    return `${this.prefix}:in-flight:${apiKeyId}`;
  }
}
