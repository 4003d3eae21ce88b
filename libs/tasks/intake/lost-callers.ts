import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';

/** A process may have had thousands of callers, and each mark is written to several indexes. */
const MARKED_AT_ONCE = 200;

/**
 * Finds callers whose process was killed, so that it could not record that they left. Each API process stays subscribed
 * to a channel of its own for as long as it lives, so Redis knows at once which processes are gone.
 */
@Injectable()
export class LostCallers {
  /** This process's name in the rows that its callers wait for; undefined until it is subscribed. */
  waiter: string | undefined;

  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    private readonly config: RedisConfig,
    private readonly prisma: PrismaService,
  ) {}

  /** The channel whose subscription shows that a process is alive. Nothing is ever published there. */
  channelOf(waiter: string): string {
    return `${this.config.redisPrefix}:api:${waiter}`;
  }

  /** Whether Redis sees this process's subscription; false if another server has it. True if Redis does not answer. */
  async isHeard(): Promise<boolean> {
    if (this.waiter === undefined) return true;
    const [, count] = await this.redis.pubsub('NUMSUB', this.channelOf(this.waiter)).catch(() => []);
    return Number(count ?? 1) > 0;
  }

  /** Marks tasks as abandoned whose callers waited at processes that are gone. Throws what Postgres throws. */
  async markAll(): Promise<void> {
    await this.mark({});
  }

  /** Like `markAll`, but checks only processes where callers of equal requests wait. Returns whether it marked any. */
  async markEqual(apiKeyId: string, fingerprint: Buffer): Promise<boolean> {
    return (await this.mark({ apiKeyId, fingerprint: new Uint8Array(fingerprint) })) > 0;
  }

  /**
   * Marks a task that has just been completed as abandoned if its caller's process is gone, so that the next equal
   * request gets its images. Never fails.
   */
  markCompleted(id: string, waiter: string, over = this.redis): void {
    this.gone([waiter], over)
      .then(async (gone) => {
        if (gone.length === 0) return;
        const where = { id, waiter, status: 'completed', abandonedAt: null, deliveredAt: null };
        await this.prisma.task.updateMany({ where, data: { abandonedAt: new Date() } });
      })
      .catch(() => undefined);
  }

  /** Asks Redis which processes where callers of such tasks wait are gone, and marks all their pending tasks. */
  private async mark(tasks: { apiKeyId?: string; fingerprint?: Uint8Array<ArrayBuffer> }): Promise<number> {
    const waitedFor = { status: 'pending', abandonedAt: null };
    const found = await this.prisma.task.groupBy({
      by: ['waiter'],
      where: { ...tasks, ...waitedFor, waiter: { not: null } },
    });
    const others = found.flatMap(({ waiter }) => (waiter === null || waiter === this.waiter ? [] : [waiter]));
    if (others.length === 0) return 0;
    const gone = await this.gone(others);
    if (gone.length === 0) return 0;
    // By the index of unfinished tasks, which the second condition on their state leads to.
    const where = { waiter: { in: gone }, ...waitedFor, finishedAt: null };
    let count = 0;
    let ids: string[];
    do {
      const page = { orderBy: { id: 'asc' }, take: MARKED_AT_ONCE, select: { id: true } } as const;
      ids = (await this.prisma.task.findMany({ where, ...page })).map(({ id }) => id);
      const marked = { where: { id: { in: inList(ids) }, ...where }, data: { abandonedAt: new Date() } };
      count += (await this.prisma.task.updateMany(marked)).count;
    } while (ids.length === MARKED_AT_ONCE);
    return count;
  }

  /** The processes that have no subscription at Redis. Without Redis, none counts as gone. */
  private async gone(waiters: readonly string[], over = this.redis): Promise<string[]> {
    // The answer is a flat list: channel, subscribers, channel, subscribers, ...
    const counts = await over.pubsub('NUMSUB', ...waiters.map((one) => this.channelOf(one))).catch(() => []);
    return waiters.filter((_, index) => Number(counts[2 * index + 1]) === 0);
  }
}
