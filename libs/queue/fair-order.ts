import type { Redis } from 'ioredis';
import { IMAGE_QUEUE } from './job-catalog.js';
import { RedisScript } from './redis-script.js';

/** Whose turn a job takes. */
export interface QueueCaller {
  readonly apiKeyId: string;
  /** Turns per round, relative to other callers; at least 1. */
  readonly weight: number;
}

/** A turn that a caller asked for. */
export interface Turn {
  /** Undefined when too many jobs are before it; then it was not taken. */
  readonly priority: number | undefined;
  /** Jobs that are before it, those that run now included. */
  readonly before: number;
}

/** Of a job that needs no turn because its task has had one: before all others. */
export const FIRST_PRIORITY = 1;
/** BullMQ's largest priority. */
const LAST_PRIORITY = 2 ** 21 - 1;
/** Priorities are whole numbers, so a round is divided among weights in so many of them. */
const STEPS = 16;
/** With nothing added or started for so long the rounds are forgotten. */
const IDLE_MS = 600_000;

/**
 * KEYS: rounds, BullMQ's sets of prioritized, returned and active jobs; ARGV: how many jobs may be before one that
 * takes a turn (-1 = any number), then a key's id and weight, for each job. Answers with a priority each, and the jobs
 * before it; priority 0 = there are too many, and nothing has changed for its key.
 * Rounds are counted in steps. When they were forgotten while jobs wait, the first in line says where they are. They
 * begin anew when much of the range is used and nobody waits; at its end all are served as they come.
 */
const TAKE_TURNS = new RedisScript(`
  local now = tonumber(redis.call('HGET', KEYS[1], 'now'))
  local half = ${LAST_PRIORITY} / 2
  if now and now > half and redis.call('EXISTS', KEYS[2]) == 0 then
    redis.call('DEL', KEYS[1])
    now = 0
  end
  if not now then
    local head = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
    now = head[2] and math.max(0, math.floor(head[2] / 4294967296) - ${FIRST_PRIORITY} - ${STEPS}) or 0
    redis.call('HSET', KEYS[1], 'now', now)
  end
  local turns = {}
  local most = tonumber(ARGV[1])
  local ahead = redis.call('LLEN', KEYS[3]) + redis.call('LLEN', KEYS[4])
  for i = 2, #ARGV, 2 do
    local last = tonumber(redis.call('HGET', KEYS[1], ARGV[i])) or 0
    local turn = math.max(now, last) + ${STEPS} / math.max(1, tonumber(ARGV[i + 1]))
    local priority = math.min(${LAST_PRIORITY}, ${FIRST_PRIORITY} + math.max(1, math.floor(turn)))
    local after = string.format('(%.0f', (priority + 1) * 4294967296)
    local before = ahead + redis.call('ZCOUNT', KEYS[2], '-inf', after)
    if most >= 0 and before > most then
      priority = 0
    else
      redis.call('HSET', KEYS[1], ARGV[i], string.format('%.6f', turn))
    end
    turns[#turns + 1] = priority
    turns[#turns + 1] = before
  end
  redis.call('PEXPIRE', KEYS[1], ${IDLE_MS})
  return turns`);

/** KEYS: rounds; ARGV: a key's id and weight. */
const GIVE_BACK = new RedisScript(`
  local last = redis.call('HGET', KEYS[1], ARGV[1])
  if last then redis.call('HSET', KEYS[1], ARGV[1], string.format('%.6f', last - ${STEPS} / math.max(1, ARGV[2]))) end`);

/** KEYS: rounds; ARGV: the priority of a job that starts. */
const START = new RedisScript(`
  local turn = ARGV[1] - ${FIRST_PRIORITY}
  if turn > (tonumber(redis.call('HGET', KEYS[1], 'now')) or 0) then redis.call('HSET', KEYS[1], 'now', turn) end
  redis.call('PEXPIRE', KEYS[1], ${IDLE_MS})`);

/**
 * Gives every job its caller's next turn as its priority: one per round and weight, counted from the turn that is
 * being served. So a caller's first job comes before the second of any other, however many are waiting.
 */
export class FairOrder {
  private readonly rounds: string;
  private readonly waiting: readonly string[];

  constructor(
    private readonly redis: Redis,
    prefix: string,
  ) {
    this.rounds = `${prefix}:rounds`;
    this.waiting = ['prioritized', 'wait', 'active'].map((name) => `${prefix}:${IMAGE_QUEUE}:${name}`);
  }

  /** The priorities of the callers' next jobs, in their order. Throws like RedisScript. */
  async takeTurns(callers: readonly QueueCaller[]): Promise<number[]> {
    if (callers.length === 0) return [];
    const turns = await this.run(callers, -1);
    return turns.filter((_value, index) => index % 2 === 0);
  }

  /**
   * The next turn of one caller, unless more than `mostBefore` jobs would be before it; any number when undefined.
   * Throws like RedisScript.
   */
  async takeTurn(caller: QueueCaller, mostBefore: number | undefined): Promise<Turn> {
    const [priority = 0, before = 0] = await this.run([caller], mostBefore ?? -1);
    return { priority: priority === 0 ? undefined : priority, before };
  }

  /** The caller's last turn is not needed after all. Throws like RedisScript. */
  async giveBack({ apiKeyId, weight }: QueueCaller): Promise<void> {
    await GIVE_BACK.run(this.redis, [this.rounds], [apiKeyId, weight]);
  }

  /** A job with this priority starts, so the rounds have come to it. Throws like RedisScript. */
  async started(priority: number): Promise<void> {
    await START.run(this.redis, [this.rounds], [priority]);
  }

  private async run(callers: readonly QueueCaller[], mostBefore: number): Promise<number[]> {
    const values = callers.flatMap(({ apiKeyId, weight }) => [apiKeyId, weight]);
    return (await TAKE_TURNS.run(this.redis, [this.rounds, ...this.waiting], [mostBefore, ...values])) as number[];
  }
}
