import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';
import { RedisScript } from '#redis/redis-script.js';

/** Samples kept of each kind of task, and of all tasks together. */
const KEPT = 64;
const KEPT_OF_ALL = 128;
/** Stands for all kinds together. */
const ALL = '*';
/** A worker that has not reported for this long counts as gone, with no slots. */
export const WORKER_TTL_MS = 15_000;

/** How long one completed task took. */
export interface ServiceSample {
  /** The kind of task; there are few kinds. */
  readonly kind: string;
  /** Milliseconds from its start to its end. */
  readonly ms: number;
}

/** What a worker reports about itself. */
interface WorkerFacts {
  readonly host: string;
  readonly pid: number;
  /** Of the product. */
  readonly version: string;
  /** ISO 8601, by its own clock. */
  readonly startedAt: string;
  /** Tasks it holds now. */
  readonly running: number;
}

/** A worker, and how much of the queue it can take. */
export interface WorkerSlots {
  readonly worker: string;
  /** Tasks it can hold at once; 0 = it takes no more. */
  readonly slots: number;
  readonly facts: WorkerFacts;
}

/** A worker that has reported lately. */
export interface LiveWorker extends WorkerFacts {
  readonly id: string;
  readonly slots: number;
  /** Milliseconds since it last reported. */
  readonly silentMs: number;
}

/** What all workers have reported, newest sample last. */
export interface ServiceRecord {
  /** Tasks that can run at once, at all workers together. */
  readonly slots: number;
  readonly kinds: ReadonlyMap<string, { readonly latestAt: number; readonly times: readonly number[] }>;
  /** Times of tasks of any kind. */
  readonly all: readonly number[];
}

/**
 * KEYS: times, workers, facts of workers; ARGV: worker, slots, whether to fill only an empty record, the worker's
 * facts, then kind, times and how many to keep, repeated. Returns whether there is a record. The times of a kind are
 * stored as the time of the latest, a colon, and all of them joined with commas.
 */
const REPORT = new RedisScript(`
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now)) do
    redis.call('HDEL', KEYS[3], string.match(member, '^%S+'))
  end
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
  for _, member in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
    if string.sub(member, 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then redis.call('ZREM', KEYS[2], member) end
  end
  if tonumber(ARGV[2]) > 0 then
    redis.call('ZADD', KEYS[2], now + ${WORKER_TTL_MS}, ARGV[1] .. ' ' .. ARGV[2])
    redis.call('HSET', KEYS[3], ARGV[1], ARGV[4])
    redis.call('PEXPIRE', KEYS[3], ${WORKER_TTL_MS})
  else
    redis.call('HDEL', KEYS[3], ARGV[1])
  end
  local exists = redis.call('EXISTS', KEYS[1])
  if ARGV[3] == '1' and exists == 1 then return 1 end
  for i = 5, #ARGV, 3 do
    local list = {}
    local old = redis.call('HGET', KEYS[1], ARGV[i])
    if old then for ms in string.gmatch(string.match(old, ':(.*)'), '%d+') do list[#list + 1] = ms end end
    for ms in string.gmatch(ARGV[i + 1], '%d+') do list[#list + 1] = ms end
    local first = math.max(1, #list - ARGV[i + 2] + 1)
    redis.call('HSET', KEYS[1], ARGV[i], time[1] .. ':' .. table.concat(list, ',', first))
    exists = 1
  end
  return exists`);

/** KEYS: times, workers. Returns the slots, and the record as alternating names and values. */
const READ = new RedisScript(`
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local slots = 0
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], now, '+inf')) do
    slots = slots + tonumber(string.match(member, '%d+$'))
  end
  return { slots, redis.call('HGETALL', KEYS[1]) }`);

/** KEYS: workers, facts of workers. Returns the time, the workers with their scores, and the facts by worker. */
const WORKERS = new RedisScript(`
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  return { now, redis.call('ZRANGEBYSCORE', KEYS[1], now, '+inf', 'WITHSCORES'), redis.call('HGETALL', KEYS[2]) }`);

/**
 * How long tasks take and how many can run at once, reported by the workers and shared by all processes. If Redis loses
 * it, it is rebuilt from the rows.
 */
@Injectable()
export class ServiceTimes {
  private readonly keys: readonly [times: string, workers: string, facts: string];

  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    { redisPrefix: prefix }: RedisConfig,
  ) {
    this.keys = [`${prefix}:service-times`, `${prefix}:workers`, `${prefix}:worker-facts`];
  }

  /** Adds samples, oldest first, and marks the worker as alive. False without a record yet. Throws like RedisScript. */
  async report(worker: WorkerSlots, samples: readonly ServiceSample[]): Promise<boolean> {
    return this.send(worker, samples, false);
  }

  /** Like `report`, but adds samples only if there is no record yet. */
  async restore(worker: WorkerSlots, samples: readonly ServiceSample[]): Promise<void> {
    await this.send(worker, samples, true);
  }

  /** Throws like RedisScript. */
  async read(): Promise<ServiceRecord> {
    const [slots, fields] = (await READ.run(this.redis, this.keys, [])) as [number, string[]];
    const kinds = new Map<string, { latestAt: number; times: number[] }>();
    for (let index = 0; index < fields.length; index += 2) {
      const [latest = '', times = ''] = fields[index + 1]?.split(':') ?? [];
      kinds.set(fields[index] ?? '', { latestAt: Number(latest), times: times.split(',').map(Number) });
    }
    const all = kinds.get(ALL)?.times ?? [];
    kinds.delete(ALL);
    return { slots, kinds, all };
  }

  /** The live workers, in the order in which they started. Throws like RedisScript. */
  async workers(): Promise<LiveWorker[]> {
    const [now, members, pairs] = (await WORKERS.run(this.redis, this.keys.slice(1), [])) as [
      number,
      string[],
      string[],
    ];
    const facts = new Map(pairs.flatMap((id, index) => (index % 2 === 0 ? [[id, pairs[index + 1] ?? '']] : [])));
    const found = members.flatMap((member, index) => {
      const [id = '', slots] = member.split(' ');
      const told = index % 2 === 0 ? facts.get(id) : undefined;
      if (told === undefined) return [];
      const silentMs = Math.max(0, now + WORKER_TTL_MS - Number(members[index + 1]));
      return [{ id, slots: Number(slots), silentMs, ...(JSON.parse(told) as WorkerFacts) }];
    });
    return found.sort((a, b) => a.startedAt.localeCompare(b.startedAt) || a.id.localeCompare(b.id));
  }

  private async send(worker: WorkerSlots, samples: readonly ServiceSample[], onlyEmpty: boolean): Promise<boolean> {
    const byKind = new Map<string, number[]>();
    for (const { kind, ms } of samples) byKind.set(kind, [...(byKind.get(kind) ?? []), ms]);
    const values = [...byKind].flatMap(([kind, times]) => [kind, join(times, KEPT), KEPT]);
    if (samples.length > 0) {
      const all = samples.map(({ ms }) => ms);
      values.push(ALL, join(all, KEPT_OF_ALL), KEPT_OF_ALL);
    }
    const head = [worker.worker, worker.slots, onlyEmpty ? 1 : 0, JSON.stringify(worker.facts)];
    return (await REPORT.run(this.redis, this.keys, [...head, ...values])) === 1;
  }
}

function join(times: readonly number[], most: number): string {
  return times
    .slice(-most)
    .map((ms) => Math.max(0, Math.round(ms)))
    .join(',');
}
