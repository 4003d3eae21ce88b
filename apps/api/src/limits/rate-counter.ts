import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { RedisConfig } from '#redis/redis.config.js';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { RedisScript } from '#redis/redis-script.js';

export const WINDOW_SECONDS = 60;

/**
 * KEYS: counters of nested windows (key, account). ARGV: requests to add, length of a window in ms, then the limit of each.
 * Answers for each with the count, how many of these requests were counted, and the ms until the window ends. Requests above
 * one window's limit are not counted in the next.
 */
const COUNT = new RedisScript(`
  local rest = tonumber(ARGV[1])
  local answers = {}
  for i, key in ipairs(KEYS) do
    local count = rest > 0 and redis.call('INCRBY', key, rest) or tonumber(redis.call('GET', key)) or 0
    if rest > 0 and count == rest then redis.call('PEXPIRE', key, ARGV[2]) end
    answers[i] = { count, rest, redis.call('PTTL', key) }
    rest = math.max(0, math.min(rest, ARGV[i + 2] - (count - rest)))
  end
  return answers`);

/** A counter, and how many requests of a window it lets on to the next one. */
export interface RateWindow {
  readonly name: string;
  readonly limit: number;
}

/** Where a request stands in a window. */
export interface Counted {
  /** 1 for the first request of the window; of one that an earlier window stopped, that of the last before it. */
  readonly place: number;
  /** Whole seconds until the window ends, at least 1. */
  readonly resetSeconds: number;
}

type Answer = readonly [count: number, added: number, restMs: number];

/** Requests of the same windows that arrived while a command was on its way; they go together with the next. */
interface Waiting {
  count: number;
  answer: Promise<readonly Answer[]> | undefined;
}

/**
 * Counts requests in windows (of a minute unless told) that begin with the first, exactly, at all processes together. Names
 * that are counted together have windows of one length.
 * However many requests of one caller come at a time, this process has one command for them on its way and one that waits.
 */
@Injectable()
export class RateCounter {
  private readonly running = new Map<string, Promise<unknown>>();
  private readonly waiting = new Map<string, Waiting>();

  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    private readonly config: RedisConfig,
  ) {}

  /** Throws when Redis does not answer. */
  async count(name: string, windowSeconds = WINDOW_SECONDS): Promise<Counted> {
    const [counted] = await this.countAll([{ name, limit: 0 }], windowSeconds);
    return counted as Counted;
  }

  /** The same in several windows with one command: in each one only while all before it leave room. Throws like `count`. */
  async countAll(windows: readonly RateWindow[], windowSeconds = WINDOW_SECONDS): Promise<Counted[]> {
    const group = windows.map(({ name }) => name).join(' ');
    const together = this.waiting.get(group) ?? { count: 0, answer: undefined };
    const index = together.count++;
    if (together.answer === undefined) {
      this.waiting.set(group, together);
      together.answer = this.send(group, windows, windowSeconds, together);
    }
    const answers = await together.answer;
    return answers.map(([count, added, restMs]) => ({
      place: index < added ? count - added + 1 + index : count,
      resetSeconds: Math.min(Math.max(1, Math.ceil(restMs / 1_000)), windowSeconds),
    }));
  }

  private async send(
    group: string,
    windows: readonly RateWindow[],
    windowSeconds: number,
    together: Waiting,
  ): Promise<readonly Answer[]> {
    await this.running.get(group)?.catch(() => undefined);
    this.waiting.delete(group);
    const command = COUNT.run(
      this.redis,
      windows.map(({ name }) => `${this.config.redisPrefix}:rate:${name}`),
      [together.count, windowSeconds * 1_000, ...windows.map(({ limit }) => limit)],
    );
    this.running.set(group, command);
    try {
      return (await command) as Answer[];
    } finally {
      if (this.running.get(group) === command) this.running.delete(group);
    }
  }
}
