import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';

/** How often Redis is probed after a failed command; until a probe succeeds, it counts as down. */
const PROBE_INTERVAL_MS = 500;

/** Knows whether Redis can take work now, so that a request is refused before a row is written. */
@Injectable()
export class QueueHealth implements OnApplicationShutdown {
  private failing = false;
  private probe: NodeJS.Timeout | undefined;

  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    private readonly config: RedisConfig,
  ) {}

  /** False while Redis is disconnected, frozen or refusing writes. Sends no command. */
  get accepting(): boolean {
    return this.redis.status === 'ready' && !this.failing;
  }

  /** Reports a failed command: Redis counts as down until it accepts a write again. */
  reportFailure(): void {
    this.failing = true;
    this.probe ??= setInterval(() => void this.tryAgain(), PROBE_INTERVAL_MS).unref();
  }

  /** Throws with a sentence an operator can act on. */
  async check(): Promise<void> {
    const memory = await this.redis.info('memory').catch((cause: unknown) => {
      throw new Error('Redis does not answer', { cause });
    });
    const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1];
    if (policy !== 'noeviction') {
      throw new Error(`Redis may evict jobs: maxmemory-policy is ${policy ?? 'unknown'}, set it to noeviction`);
    }
    await this.tryWrite().catch((cause: unknown) => {
      throw new Error('Redis rejects writes', { cause });
    });
    if (!this.accepting) throw new Error('Redis does not accept jobs');
  }

  /**
   * Writes a key and publishes a message below the prefix. Throws what Redis answers when it takes neither: without
   * memory, read-only, frozen or gone, or for a user that may use other keys or channels.
   */
  async tryWrite(): Promise<void> {
    const name = `${this.config.redisPrefix}:probe`;
    await Promise.all([this.redis.set(name, '', 'EX', 60), this.redis.publish(name, '')]);
  }

  onApplicationShutdown(): void {
    this.stop();
  }

  stop(): void {
    clearInterval(this.probe);
    this.probe = undefined;
  }

  private async tryAgain(): Promise<void> {
    const healthy = await this.tryWrite().then(
      () => true,
      () => false,
    );
    if (!healthy) return;
    this.failing = false;
    this.stop();
  }
}
