import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';

/** How long a process that was asked may take to answer, in ms, before its callers count as lost: it may be paused. */
const ANSWER_MS = 2_000;
/** Most tasks of equal requests to ask about; more are taken for waited for. */
const MAX_ASKED = 1_000;

/** A question of one API process to another, and the answer. Its names stay, because processes of two releases talk. */
type Message =
  { readonly ask: string; readonly by: string; readonly fingerprint: string } | { readonly settled: string };

/** A process may have had thousands of callers, and each mark is written to several indexes. */
const MARKED_AT_ONCE = 200;

/** Tasks whose callers wait for the outcome. */
const WAITED_FOR = { status: 'pending', abandonedAt: null, asynchronous: false } as const;

/** The requests of a key that are equal to another one, by whose callers tasks are looked for. */
interface AskedAbout {
  readonly apiKeyId: string;
  readonly fingerprint: Buffer;
  /** Milliseconds. */
  readonly windowMs: number;
}

/**
 * Finds callers whose process was killed or is paused, so that it could not record that they left. Each API process stays
 * subscribed to a channel of its own for as long as it lives, so Redis knows at once which processes are gone; and those
 * that live are asked there.
 */
@Injectable()
export class LostCallers {
  /** This process's name in the rows that its callers wait for; undefined until it is subscribed. */
  waiter: string | undefined;
  /** What to call when the process has answered, by question. */
  private readonly asked = new Map<string, () => void>();

  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    private readonly config: RedisConfig,
    private readonly prisma: PrismaService,
  ) {}

  /** The channel whose subscription shows that a process is alive, and where it is asked about its callers. */
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
    const where = { ...WAITED_FOR, waiter: { not: null } };
    const found = await this.prisma.task.groupBy({ by: ['waiter'], where });
    const others = found.flatMap(({ waiter }) => (waiter === null || waiter === this.waiter ? [] : [waiter]));
    if (others.length > 0) await this.markGone(await this.gone(others));
  }

  /**
   * Asks the other processes where callers of equal requests wait to record which of them have left, and does so for
   * those that are gone or don't answer. Asks about callers of the last `windowMs` if they get only the task, or if it was
   * completed then.
   * Returns the tasks that were asked about. Throws what Postgres throws.
   */
  async askOthers({ apiKeyId, fingerprint, windowMs }: AskedAbout): Promise<string[]> {
    const since = new Date((await this.prisma.now()).getTime() - windowMs);
    const found = await this.prisma.task.findMany({
      where: {
        apiKeyId,
        fingerprint: new Uint8Array(fingerprint),
        abandonedAt: null,
        deliveredAt: null,
        waiter: { not: null },
        NOT: { waiter: this.waiter ?? '' },
        OR: [
          { status: 'pending', OR: [{ asynchronous: false }, { createdAt: { gt: since } }] },
          { status: 'completed', finishedAt: { gt: since } },
        ],
      },
      select: { id: true, waiter: true },
      take: MAX_ASKED,
    });
    const processes = [...new Set(found.flatMap(({ waiter }) => waiter ?? []))];
    const answers = await Promise.all(processes.map((waiter) => this.ask(waiter, fingerprint)));
    await this.markGone(processes.filter((_each, index) => answers[index] === 'gone'));
    const silent = new Set(processes.filter((_each, index) => answers[index] === 'silent'));
    const lost = found.flatMap(({ id, waiter }) => (waiter !== null && silent.has(waiter) ? id : []));
    if (lost.length > 0) {
      const where = { id: { in: inList(lost) }, waiter: { in: [...silent] }, abandonedAt: null, deliveredAt: null };
      await this.prisma.task.updateMany({ where, data: { abandonedAt: await this.prisma.now() } });
    }
    return found.map(({ id }) => id);
  }

  /** `answered`: it has recorded which callers of equal requests have left, or cannot be asked. */
  private async ask(waiter: string, fingerprint: Buffer): Promise<'answered' | 'gone' | 'silent'> {
    if (this.waiter === undefined) return 'answered';
    const question = randomBytes(9).toString('base64url');
    let timer: NodeJS.Timeout | undefined;
    const answered = new Promise<'answered' | 'silent'>((resolve) => {
      this.asked.set(question, () => {
        resolve('answered');
      });
      timer = setTimeout(resolve, ANSWER_MS, 'silent');
    });
    try {
      const message: Message = { ask: question, by: this.waiter, fingerprint: fingerprint.toString('hex') };
      const listeners = await this.redis
        .publish(this.channelOf(waiter), JSON.stringify(message))
        .catch(() => undefined);
      if (listeners === undefined) return 'answered';
      return listeners === 0 ? 'gone' : await answered;
    } finally {
      clearTimeout(timer);
      this.asked.delete(question);
    }
  }

  /** Handles a message to this process's channel; `record` records which callers of equal requests have left it. */
  async receive(text: string, record: (fingerprint: Buffer) => Promise<void>): Promise<void> {
    const message = JSON.parse(text) as Message;
    if ('settled' in message) {
      this.asked.get(message.settled)?.();
      return;
    }
    await record(Buffer.from(message.fingerprint, 'hex'));
    const answer: Message = { settled: message.ask };
    await this.redis.publish(this.channelOf(message.by), JSON.stringify(answer));
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

  /** Marks the pending tasks of callers whose processes are gone; not of those who got, or get, only the task. */
  private async markGone(gone: readonly string[]): Promise<void> {
    if (gone.length === 0) return;
    // By the index of unfinished tasks, which the second condition on their state leads to.
    const where = { waiter: { in: inList(gone) }, ...WAITED_FOR, finishedAt: null };
    let ids: string[];
    do {
      const page = { orderBy: { id: 'asc' }, take: MARKED_AT_ONCE, select: { id: true } } as const;
      ids = (await this.prisma.task.findMany({ where, ...page })).map(({ id }) => id);
      const marked = { where: { id: { in: inList(ids) }, ...where }, data: { abandonedAt: new Date() } };
      await this.prisma.task.updateMany(marked);
    } while (ids.length === MARKED_AT_ONCE);
  }

  /** The processes that have no subscription at Redis. Without Redis, none counts as gone. */
  private async gone(waiters: readonly string[], over = this.redis): Promise<string[]> {
    // The answer is a flat list: channel, subscribers, channel, subscribers, ...
    const counts = await over.pubsub('NUMSUB', ...waiters.map((one) => this.channelOf(one))).catch(() => []);
    return waiters.filter((_, index) => Number(counts[2 * index + 1]) === 0);
  }
}
