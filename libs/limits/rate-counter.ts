import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { RedisConfig } from '#redis/redis.config.js';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { RedisScript } from '#redis/redis-script.js';

export const WINDOW_SECONDS = 60;

/**
 * KEYS: counters of nested windows (key, account). ARGV: requests to add, window length in ms, then the limit of each
 * window. Returns for each window the count, how many of these requests were counted, and the ms until it ends.
 * Requests above one window's limit are not counted in the next.
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

/** KEYS: one counter. Returns one request, unless its window has ended. */
const RETURN = new RedisScript(`
  local count = tonumber(redis.call('GET', KEYS[1])) or 0
  if count > 0 then redis.call('DECR', KEYS[1]) end
  return count`);

/** A counter, and how many requests per window it passes on to the next counter. */
export interface RateWindow {
  readonly name: string;
  readonly limit: number;
}

/** A request's position in a window. */
export interface Counted {
  /**
   * 1 for the first request of the window. A request that an earlier window stopped gets the position of the last
   * counted one.
   */
  readonly place: number;
  /** Whole seconds until the window ends, at least 1. */
  readonly resetSeconds: number;
}

type Answer = readonly [count: number, added: number, restMs: number];

/** Requests that arrived for the same windows while a command was running; the next command counts them together. */
interface Waiting {
  count: number;
  answer: Promise<readonly Answer[]> | undefined;
}

/**
 * Counts requests exactly, across all processes, in windows (a minute by default) that start with their first request.
 * Names that are counted together have windows of the same length. However many requests a caller sends at once, this
 * process has at most one running and one waiting command for them.
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

  /**
   * Counts in several windows with one command; a window counts only requests that fit all earlier windows. Throws like
   * `count`.
   */
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

  /** Returns one request that was counted. Throws like `count`. */
  async returnRequest(name: string): Promise<void> {
    await RETURN.run(this.redis, [this.keyOf(name)], []);
  }

  private keyOf(name: string): string {
    return `${this.config.redisPrefix}:rate:${name}`;
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
      windows.map(({ name }) => this.keyOf(name)),
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
