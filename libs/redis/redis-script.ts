import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

/** A Lua script that Redis runs atomically; its text is sent only when Redis does not know it yet. */
export class RedisScript {
  private readonly digest: string;

  constructor(private readonly text: string) {
    this.digest = createHash('sha1').update(text).digest('hex');
  }

  /** Throws when Redis refuses, is down, or does not answer within the connection's command timeout. */
  async run(redis: Redis, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
    try {
      return await redis.evalsha(this.digest, keys.length, ...keys, ...values);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return await this.runInFull(redis, keys, values);
    }
  }

  /** The same in one command, for a Redis that may execute it only after its caller has given up. */
  async runInFull(redis: Redis, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
    return await redis.eval(this.text, keys.length, ...keys, ...values);
  }
}
