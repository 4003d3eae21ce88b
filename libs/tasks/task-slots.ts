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

/** A task that wants a place among those of its key. */
export interface SlotTaker {
  readonly id: string;
  readonly apiKeyId: string;
  /** The key's own limit, if it has one; 0 = any number. */
  readonly maxInFlight?: number | undefined;
}

/**
 * How many tasks each API key has in flight, at all processes together. A place that nobody gives back is free again
 * at its task's deadline, so losing a command, or Redis, never locks a caller out for longer.
 */
export class TaskSlots {
  constructor(
    private readonly redis: Redis,
    private readonly prefix: string,
    /** Tasks per key that has no limit of its own; 0 = any number, and nothing is counted. */
    private readonly usualLimit: number,
  ) {}

  /** How many tasks a key with this limit of its own may have in flight; 0 = any number. */
  limitOf(ownLimit: number | undefined): number {
    return ownLimit ?? this.usualLimit;
  }

  /** False when the key has as many as it may. Throws when Redis does not answer. */
  async take({ apiKeyId, id, maxInFlight }: SlotTaker, deadlineMs: number): Promise<boolean> {
    const limit = this.limitOf(maxInFlight);
    if (limit === 0) return true;
    return (await TAKE.run(this.redis, [this.keyOf(apiKeyId)], [id, limit, deadlineMs])) === 1;
  }

  /** The task has ended, or never came to be. Whether its place was counted is not known to a worker. */
  free(apiKeyId: string, taskId: string): void {
    this.redis.zrem(this.keyOf(apiKeyId), taskId).catch(() => undefined);
  }

  private keyOf(apiKeyId: string): string {
    return `${this.prefix}:in-flight:${apiKeyId}`;
  }
}
