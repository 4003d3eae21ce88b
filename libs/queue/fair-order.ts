import type { Redis } from 'ioredis';
import { IMAGE_QUEUE } from './job-catalog.js';
import { RedisScript } from './redis-script.js';

/** Whose turn a job takes. */
export interface QueueCaller {
  readonly apiKeyId: string;
  /** Turns per round, relative to other callers; at least 1. */
  readonly weight: number;
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
 * KEYS: rounds, BullMQ's set of waiting jobs; ARGV: a key's id and weight, for each job. Answers with a priority each.
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
  local priorities = {}
  for i = 1, #ARGV, 2 do
    local last = tonumber(redis.call('HGET', KEYS[1], ARGV[i])) or 0
    local turn = math.max(now, last) + ${STEPS} / math.max(1, tonumber(ARGV[i + 1]))
    redis.call('HSET', KEYS[1], ARGV[i], string.format('%.6f', turn))
    priorities[#priorities + 1] = math.min(${LAST_PRIORITY}, ${FIRST_PRIORITY} + math.max(1, math.floor(turn)))
  end
  redis.call('PEXPIRE', KEYS[1], ${IDLE_MS})
  return priorities`);

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
  private readonly waiting: string;

  constructor(
    private readonly redis: Redis,
    prefix: string,
  ) {
    this.rounds = `${prefix}:rounds`;
    this.waiting = `${prefix}:${IMAGE_QUEUE}:prioritized`;
  }

  /** The priorities of the callers' next jobs, in their order. Throws like RedisScript. */
  async takeTurns(callers: readonly QueueCaller[]): Promise<number[]> {
    if (callers.length === 0) return [];
    const values = callers.flatMap(({ apiKeyId, weight }) => [apiKeyId, weight]);
    return (await TAKE_TURNS.run(this.redis, [this.rounds, this.waiting], values)) as number[];
  }

  /** A job with this priority starts, so the rounds have come to it. Throws like RedisScript. */
  async started(priority: number): Promise<void> {
    await START.run(this.redis, [this.rounds], [priority]);
  }
}
