import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { appliedLimits, labelLimitsOf, type AppliedLimit, type LabelKind } from '#billing/label-limits.js';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';
import { RedisScript } from '#redis/redis-script.js';
import type { Slot, SlotRefusal } from '#queue/fair-order.js';
import { overloaded } from '#contract/unavailable.js';
import { TasksConfig } from '../row/tasks.config.js';

/** A full account or key is looked up in the rows before it is refused, unless that was done so lately. */
const TRUSTED_MS = 2_000;
/** Accounts that no request has looked up for this long are looked up by one process at a time, this many at once. */
const CHECK_EVERY_MS = 30_000;
const CHECK_AT_ONCE = 100;
/** A place whose task has no row is kept for so long after its statement must have ended. */
const UNWRITTEN_MARGIN_MS = 3_000;
/** Rows that one statement reads: accounts may have tens of thousands of tasks in flight. */
const PAGE = 1_000;
const COUNTED_COLUMNS = {
  id: true,
  accountId: true,
  apiKeyId: true,
  finishedAt: true,
  endUser: true,
  tags: true,
} as const;

/** A task that waits for its approval has no slot. */
const IN_FLIGHT = { finishedAt: null, phase: { not: 'held' } } as const;

interface CountedTask {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly finishedAt: Date | null;
  readonly endUser: string | null;
  readonly tags: readonly string[];
}

const NOW = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/** KEYS: an account's tasks. Answers with the time and all of them, each with when it was counted. */
const LIST = new RedisScript(`${NOW}
  return { now, redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES') }`);

/**
 * KEYS: when accounts were looked up, an account's tasks; ARGV: account, prefix of what belongs to a key, since when a
 * place is taken as old, ms it is kept, how many to remove, their names, and the names of those to count.
 */
const CORRECT = new RedisScript(`${NOW}
  local removed = tonumber(ARGV[5])
  for i = 6, #ARGV do
    local key, task = string.match(ARGV[i], '^(%S+) (%S+)$')
    if i < 6 + removed then
      redis.call('ZREM', KEYS[2], ARGV[i])
      redis.call('ZREM', ARGV[2] .. key, task)
    else
      redis.call('ZADD', KEYS[2], 'NX', ARGV[3], ARGV[i])
      redis.call('ZADD', ARGV[2] .. key, 'NX', ARGV[3], task)
      redis.call('PEXPIRE', ARGV[2] .. key, ARGV[4])
    end
  end
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
  redis.call('ZADD', KEYS[1], now, ARGV[1])`);

/** A task that wants a place among those of its key, its account, and its labels. */
export interface SlotTaker {
  readonly id: string;
  readonly accountId: string;
  /** Keys that replaced each other have their places together. */
  readonly originalKeyId: string;
  /** The key's own limit, if it has one; 0 = any number. */
  readonly maxInFlight?: number | undefined;
  /** The account's own limit, likewise. */
  readonly accountMaxInFlight?: number | undefined;
  /** The limits of its labels, if they have any. */
  readonly labelLimits?: readonly AppliedLimit[];
}

/** Whose limit leaves no place, and what it is. */
export interface Full {
  readonly of: 'key' | 'account' | LabelKind;
  readonly limit: number;
}

/**
 * How many tasks each API key, each account, and each limited label has in flight, at all processes together. Redis only remembers what the
 * rows say: a caller is refused when the rows agree, an account that Redis does not know is looked up in them, and all
 * are now and again. So neither a lost command nor a lost Redis locks anybody out, or lets more in for long.
 */
@Injectable()
export class TaskSlots {
  private readonly prefix: string;
  private readonly known: string;
  /** A place whose task has no row is kept for so long: its row may be about to be written. */
  private readonly unwrittenMs: number;
  /** Accounts that are being looked up, so that a flood asks once. */
  private readonly correcting = new Map<string, Promise<void>>();

  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    { redisPrefix: prefix }: RedisConfig,
    private readonly config: TasksConfig,
    private readonly prisma: PrismaService,
  ) {
    this.prefix = prefix;
    this.known = `${prefix}:in-flight`;
    this.unwrittenMs = prisma.answerMs + UNWRITTEN_MARGIN_MS;
  }

  /**
   * Takes a turn of the queue with a slot among the tasks in flight: `take` asks for both in one step (fair-scripts.ts of
   * `queue`), or for a turn alone where there is no limit. Throws what it throws, and AppError `server_is_overloaded` when
   * the rows can't be read.
   */
  async with<T extends object>(taker: SlotTaker, take: (slot?: Slot) => Promise<T | SlotRefusal>): Promise<T | Full> {
    const slot = this.of(taker);
    let taken = await take(slot);
    if (taken === 'unknown') {
      await this.correctOne(taker.accountId);
      // What was just read counts, however long this process takes to ask again.
      taken = await take(slot && { ...slot, trustedMs: slot.keptMs });
    }
    // Redis has lost it again already. A task that can't be counted is let in.
    if (taken === 'unknown') taken = await take();
    if (typeof taken === 'object') return taken;
    if (typeof taken === 'number') {
      const { kind = 'tag', tasksInFlight } = labelsIn(taker)[taken] ?? {};
      return { of: kind, limit: tasksInFlight ?? 0 };
    }
    const of = taken === 'key' ? 'key' : 'account';
    return { of, limit: slot?.limits[of] ?? 0 };
  }

  /** The task has ended, or never came to be. Never fails: a command that is lost is made up for by the rows. */
  free(
    { accountId, originalKeyId, id }: Pick<SlotTaker, 'accountId' | 'originalKeyId' | 'id'>,
    over = this.redis,
  ): void {
    over.zrem(this.keyOf(accountId), `${originalKeyId} ${id}`).catch(() => undefined);
    over.zrem(this.keyOf(originalKeyId), id).catch(() => undefined);
  }

  /** The task was approved, so it is in flight from now on, whatever the limit. Never fails, like `free`. */
  async recount({ accountId }: Pick<SlotTaker, 'accountId'>): Promise<void> {
    await this.correctOne(accountId).catch(() => undefined);
  }

  /** Looks accounts up that were not for a while, and answers with how many. Throws like `with`. */
  async check(): Promise<number> {
    const alone = await this.redis.set(`${this.known}:checked`, '', 'PX', CHECK_EVERY_MS / 2, 'NX');
    if (alone === null) return 0;
    const [seconds] = await this.redis.time();
    const before = Number(seconds) * 1_000 - CHECK_EVERY_MS;
    const accounts = await this.redis.zrangebyscore(this.known, '-inf', before, 'LIMIT', 0, CHECK_AT_ONCE);
    if (accounts.length > 0) await this.correct(accounts, true);
    return accounts.length;
  }

  /** The slot that a task needs; none without a limit. */
  of(taker: SlotTaker): Slot | undefined {
    const { id, accountId, originalKeyId, maxInFlight, accountMaxInFlight } = taker;
    const limits = {
      key: maxInFlight ?? this.config.maxTasksInFlight,
      account: accountMaxInFlight ?? this.config.accountTasksInFlight,
    };
    const labels = labelsIn(taker).map((label) => ({ key: this.labelKeyOf(label), limit: label.tasksInFlight }));
    if (limits.key <= 0 && limits.account <= 0 && labels.length === 0) return undefined;
    const keys = [this.known, this.keyOf(accountId), this.keyOf(originalKeyId)] as const;
    return {
      task: id,
      owner: originalKeyId,
      keys,
      limits,
      labels,
      keptMs: this.config.deadlineMs,
      trustedMs: TRUSTED_MS,
    };
  }

  private async correctOne(account: string): Promise<void> {
    const running =
      this.correcting.get(account) ?? this.correct([account]).finally(() => this.correcting.delete(account));
    this.correcting.set(account, running);
    await running;
  }

  /** Makes what is counted for the accounts what the rows say; those with none are forgotten if they may be. */
  private async correct(accounts: readonly string[], forget = false): Promise<void> {
    const counted = await Promise.all(accounts.map((account) => this.counted(account)));
    const ids = counted.flatMap(({ names }) => [...names.keys()].map((name) => name.slice(name.indexOf(' ') + 1)));
    const rows = await this.rows(accounts, ids).catch((cause: unknown) => {
      throw overloaded(cause);
    });
    for (const [index, account] of accounts.entries()) {
      const { now, names } = counted[index] ?? { now: 0, names: new Map<string, number>() };
      const own = new Map(
        rows
          .filter((row) => row.accountId === account)
          .map((row) => [`${row.originalKeyId} ${row.id}`, { ...row, isPending: row.finishedAt === null }]),
      );
      const ended = [...names].filter(([name, since]) => !(own.get(name)?.isPending ?? since > now - this.unwrittenMs));
      const pending = [...own].filter(([name, { isPending }]) => isPending && !names.has(name));
      if (forget && names.size === 0 && pending.length === 0) await this.redis.zrem(this.known, account);
      else {
        await CORRECT.run(
          this.redis,
          [this.known, this.keyOf(account)],
          [
            ...[account, this.keyOf(''), now - this.unwrittenMs, this.config.deadlineMs, ended.length],
            ...[...ended, ...pending].map(([name]) => name),
          ],
        );
        await this.countForLabels(account, now, new Map(pending));
      }
    }
  }

  /** Counts tasks, by what stands for each, among those of their limited labels. */
  private async countForLabels(
    accountId: string,
    now: number,
    tasks: ReadonlyMap<string, Pick<CountedTask, 'endUser' | 'tags'>>,
  ): Promise<void> {
    const labeled = [...tasks].filter(([, { endUser, tags }]) => endUser !== null || tags.length > 0);
    if (labeled.length === 0) return;
    const limits = labelLimitsOf(await this.prisma.labelLimit.findMany({ where: { accountId } }));
    if (limits.length === 0) return;
    const commands = this.redis.pipeline();
    for (const [name, labels] of labeled) {
      for (const label of labelsIn({ labelLimits: appliedLimits(accountId, limits, labels) })) {
        const key = this.labelKeyOf(label);
        commands.zadd(key, 'NX', now, name).pexpire(key, this.config.deadlineMs);
      }
    }
    await commands.exec();
  }

  /** The accounts' unfinished tasks and the named ones, each with the key that it is counted for. */
  private async rows(accounts: readonly string[], ids: readonly string[]) {
    const unfinished = await this.unfinished(accounts);
    const seen = new Set(unfinished.map(({ id }) => id));
    const tasks = [...unfinished, ...(await this.named(ids.filter((id) => !seen.has(id))))];
    const keys = await this.prisma.apiKey.findMany({
      where: { id: { in: inList([...new Set(tasks.map(({ apiKeyId }) => apiKeyId))]) }, originalKeyId: { not: null } },
      select: { id: true, originalKeyId: true },
    });
    const originals = new Map(keys.map(({ id, originalKeyId }) => [id, originalKeyId]));
    return tasks.map((task) => ({ ...task, originalKeyId: originals.get(task.apiKeyId) ?? task.apiKeyId }));
  }

  private async unfinished(accounts: readonly string[]): Promise<CountedTask[]> {
    const tasks: CountedTask[] = [];
    let page: CountedTask[];
    do {
      page = await this.prisma.task.findMany({
        where: { ...IN_FLIGHT, accountId: { in: inList(accounts) }, id: { gt: tasks.at(-1)?.id ?? '' } },
        orderBy: { id: 'asc' },
        take: PAGE,
        select: COUNTED_COLUMNS,
      });
      tasks.push(...page);
    } while (page.length === PAGE);
    return tasks;
  }

  private async named(ids: readonly string[]): Promise<CountedTask[]> {
    const tasks: CountedTask[] = [];
    for (let at = 0; at < ids.length; at += PAGE) {
      const where = { id: { in: inList(ids.slice(at, at + PAGE)) } };
      tasks.push(...(await this.prisma.task.findMany({ where, select: COUNTED_COLUMNS })));
    }
    return tasks;
  }

  /** An account's places and since when each was counted, and the time, both by the clock of Redis in ms. */
  private async counted(account: string): Promise<{ now: number; names: Map<string, number> }> {
    const [now, list] = (await LIST.run(this.redis, [this.keyOf(account)], [])) as [number, string[]];
    const names = new Map<string, number>();
    for (let at = 0; at < list.length; at += 2) names.set(list[at] ?? '', Number(list[at + 1]));
    return { now, names };
  }

  private keyOf(owner: string): string {
    return `${this.prefix}:in-flight:${owner}`;
  }

  private labelKeyOf({ id }: Pick<AppliedLimit, 'id'>): string {
    return this.keyOf(`label:${id}`);
  }
}

/** The limits of a task's labels, in the order in which they are asked for. */
function labelsIn({ labelLimits = [] }: Pick<SlotTaker, 'labelLimits'>) {
  return labelLimits.flatMap(({ tasksInFlight, ...label }) =>
    tasksInFlight === null ? [] : [{ ...label, tasksInFlight }],
  );
}
