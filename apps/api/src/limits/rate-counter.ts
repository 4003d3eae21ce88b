import type { Redis } from 'ioredis';
import { RedisScript } from '#queue/redis-script.js';

export const WINDOW_SECONDS = 60;

/** KEYS: the counter of a window; ARGV: how many more, its ms. Answers with the count and the ms until it ends. */
const COUNT = new RedisScript(`
  local count = redis.call('INCRBY', KEYS[1], ARGV[1])
  if count == tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
  return { count, redis.call('PTTL', KEYS[1]) }`);

/** Where a request stands in its window. */
export interface Counted {
  /** 1 for the first request of the window. */
  readonly place: number;
  /** Whole seconds until the window ends, at least 1. */
  readonly resetSeconds: number;
}

/** Requests of one name that arrived while a command was on its way; they go together with the next. */
interface Waiting {
  count: number;
  answer: Promise<{ first: number; resetSeconds: number }> | undefined;
}

/**
 * Counts requests in windows (of a minute unless told) that begin with the first, exactly, at all processes together. However many
 * requests of one caller come at a time, this process has one command for them on its way and one that waits.
 */
export class RateCounter {
  private readonly underway = new Map<string, Promise<unknown>>();
  private readonly waiting = new Map<string, Waiting>();

  constructor(
    private readonly redis: Redis,
    private readonly prefix: string,
    private readonly windowSeconds = WINDOW_SECONDS,
  ) {}

  /** Throws when Redis does not answer. */
  async count(name: string): Promise<Counted> {
    const group = this.waiting.get(name) ?? { count: 0, answer: undefined };
    const index = group.count++;
    if (group.answer === undefined) {
      this.waiting.set(name, group);
      group.answer = this.send(name, group);
    }
    const { first, resetSeconds } = await group.answer;
    return { place: first + index, resetSeconds };
  }

  private async send(name: string, group: Waiting): Promise<{ first: number; resetSeconds: number }> {
    await this.underway.get(name)?.catch(() => undefined);
    this.waiting.delete(name);
    const command = COUNT.run(this.redis, [`${this.prefix}:rate:${name}`], [group.count, this.windowSeconds * 1_000]);
    this.underway.set(name, command);
    try {
      const [count, restMs] = (await command) as [number, number];
      const resetSeconds = Math.min(Math.max(1, Math.ceil(restMs / 1_000)), this.windowSeconds);
      return { first: count - group.count + 1, resetSeconds };
    } finally {
      if (this.underway.get(name) === command) this.underway.delete(name);
    }
  }
}
