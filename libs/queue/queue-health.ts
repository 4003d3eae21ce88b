import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { UnsuitableRedis, type GatheringRedis } from '#redis/gathering-redis.js';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';

/** How often Redis is probed after a failed command; until a probe succeeds, it counts as down. */
const PROBE_INTERVAL_MS = 500;

/** A queue moves jobs between keys by scripts, and events go to one server: the keys of a cluster are on several. */
export const NO_CLUSTER =
  'Redis Cluster is not supported (cluster_enabled is 1): name one server, or a master that Sentinels watch';

/** Knows whether Redis can take work now, so that a request is refused before a row is written. */
@Injectable()
export class QueueHealth implements OnApplicationShutdown {
  private failing = false;
  /** A cluster of Redis, whose keys are on other servers. */
  private isCluster = false;
  private probe: NodeJS.Timeout | undefined;

  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: GatheringRedis,
    private readonly config: RedisConfig,
  ) {}

  /** False while Redis is disconnected, frozen, refusing writes, or not one that can be used. Sends no command. */
  get accepting(): boolean {
    return this.redis.status === 'ready' && !this.failing && !this.isCluster;
  }

  /** Reports a failed command: Redis counts as down until it accepts a write again. */
  reportFailure(): void {
    this.failing = true;
    this.probe ??= setInterval(() => void this.tryAgain(), PROBE_INTERVAL_MS).unref();
  }

  /** Throws with a sentence an operator can act on. */
  async check(): Promise<void> {
    // Not both sections in one command, which Redis before 7 does not know.
    const answers = await Promise.all([this.redis.info('memory'), this.redis.info('cluster')]).catch(
      (cause: unknown) => {
        throw this.redis.refusal ?? new Error('Redis does not answer', { cause });
      },
    );
    const [memory, cluster] = answers;
    this.isCluster = /^cluster_enabled:1\r?$/m.test(cluster);
    if (this.isCluster) throw new UnsuitableRedis(NO_CLUSTER);
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
