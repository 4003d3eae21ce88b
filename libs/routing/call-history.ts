import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';
import { RedisScript } from '#redis/redis-script.js';

/**
 * How a call to a provider ended:
 * - `failed`: through the provider's fault, in another way than the next two
 * - `rate_limited`: it limits our calls (429)
 * - `timed_out`: it did not answer within a time limit, or the task's deadline passed first
 * - `rejected`: it did not accept the request, such as a prompt that its moderation blocks
 * - `canceled`: nobody waited for the outcome any longer
 */
const CALL_ENDINGS = ['succeeded', 'failed', 'rate_limited', 'timed_out', 'rejected', 'canceled'] as const;
export type CallEnding = (typeof CALL_ENDINGS)[number];

/** The endings that are a provider's fault. */
export const FAULTS: ReadonlySet<CallEnding> = new Set(['failed', 'rate_limited', 'timed_out']);

/** The minutes that are kept, the current one included. */
export const HISTORY_MINUTES = 60;
const MINUTE_MS = 60_000;
/** How long the last error of a provider is kept, in ms. */
const ERROR_MS = 86_400_000;

/** Calls of one minute that ended in the same way. */
export interface CallCount {
  /** The provider's name. */
  readonly provider: string;
  /** The name of its server; absent for a provider without a list of them. */
  readonly server?: string;
  /** What the provider calls the model. */
  readonly model: string;
  readonly ending: CallEnding;
  readonly count: number;
  /** How long these calls took together, in ms. */
  readonly ms: number;
}

/** Counted calls that one process reports; `ageMs`: how long ago they ended. */
export type ReportedCount = CallCount & { readonly ageMs: number };

/** A minute's calls, in no order. */
interface HistoryMinute {
  /** When it begins, by Redis's clock, in ms since the epoch. */
  readonly time: number;
  readonly counts: readonly CallCount[];
}

/** Why a call failed. */
export interface CallFailure {
  readonly model: string;
  readonly code: string;
  /** The HTTP status, if the provider answered. */
  readonly status?: number | undefined;
  /** What callers are told. */
  readonly message?: string | undefined;
  /** The provider's own message, redacted and shortened by `providerMessage`; only for operators. */
  readonly providerMessage?: string | undefined;
}

/** What a process learned of a provider, or of one of its servers. */
export interface ReportedRun {
  /** The provider's name, or the id of its server. */
  readonly of: string;
  /** How long ago the last successful call ended; absent if none did. */
  readonly succeededAgeMs?: number;
  /** Calls that failed through its fault since. */
  readonly failures: number;
  /** The last failure, whether or not a call has succeeded since, and how long ago it was. */
  readonly last?: { readonly failure: CallFailure; readonly ageMs: number };
}

/** The failures of a provider or server since its last success, and the last failure of the last 24 hours. */
interface FailureRun {
  readonly failures: number;
  readonly last: (CallFailure & { readonly at: number }) | undefined;
}

/** Calls of the last minutes, oldest minute first, and the runs of failures by the names and ids that were asked for. */
export interface History {
  readonly minutes: readonly HistoryMinute[];
  readonly runs: ReadonlyMap<string, FailureRun>;
}

const NOW = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local function exact(number) return string.format('%.0f', number) end
  local this_minute = math.floor(now / ${MINUTE_MS})`;

/**
 * KEYS: prefix of the minutes, prefix of the runs, the number of the process's last report; ARGV: number of this report,
 * how many counts it has, for each its field, age, count and ms, then for each run its name, age of the last success
 * ('' = none), failures, and age and JSON of the last one ('' = none). A report that was already counted changes nothing.
 * Processes report in any order, so what is older than a known success says nothing about the time since; of failures
 * that others reported before an older success, one is known to be newer.
 */
const ADD = new RedisScript(`${NOW}
  local minutes, runs, reported = unpack(KEYS)
  if (tonumber(redis.call('GET', reported)) or 0) >= tonumber(ARGV[1]) then return end
  redis.call('SET', reported, ARGV[1], 'PX', ${HISTORY_MINUTES * MINUTE_MS})
  local at = 3
  for _ = 1, tonumber(ARGV[2]) do
    local field, age, count, ms = unpack(ARGV, at, at + 3)
    at = at + 4
    local minute = math.floor((now - age) / ${MINUTE_MS})
    if minute > this_minute - ${HISTORY_MINUTES} then
      local key = minutes .. exact(minute)
      local had, had_ms = string.match(redis.call('HGET', key, field) or '0 0', '^(%d+) (%d+)$')
      redis.call('HSET', key, field, exact(had + count) .. ' ' .. exact(had_ms + ms))
      redis.call('PEXPIREAT', key, exact((minute + ${HISTORY_MINUTES + 1}) * ${MINUTE_MS}))
    end
  end
  while at <= #ARGV do
    local of, success_age, failures, age, failure = unpack(ARGV, at, at + 4)
    at = at + 5
    local key = runs .. of
    local had = redis.call('HMGET', key, 'failures', 'at', 'succeeded')
    local known, last_at, succeeded = tonumber(had[1]) or 0, tonumber(had[2]) or 0, tonumber(had[3]) or 0
    if success_age ~= '' and now - success_age >= succeeded then
      succeeded = now - success_age
      known = (last_at > succeeded and math.min(known, 1) or 0) + failures
    elseif now - age > succeeded then
      known = known + failures
    end
    redis.call('HSET', key, 'failures', exact(known), 'succeeded', exact(succeeded))
    if failure ~= '' and now - age >= last_at then redis.call('HSET', key, 'last', failure, 'at', exact(now - age)) end
    redis.call('PEXPIRE', key, ${ERROR_MS})
  end`);

/** KEYS: the prefixes; ARGV: names of runs. Returns the current minute, the hash of each minute, and for each run its values. */
const READ = new RedisScript(`${NOW}
  local minutes, found = {}, {}
  for minute = this_minute - ${HISTORY_MINUTES - 1}, this_minute do
    minutes[#minutes + 1] = redis.call('HGETALL', KEYS[1] .. exact(minute))
  end
  for n = 1, #ARGV do
    local failures, last, at = unpack(redis.call('HMGET', KEYS[2] .. ARGV[n], 'failures', 'last', 'at'))
    found[n] = { failures or '0', last or '', at or '0' }
  end
  return { this_minute, minutes, found }`);

/**
 * How the calls to providers ended, by minute, in Redis and by its clock: the same numbers whichever process answers. It
 * has 60 minutes, each with a field per server, model and ending; older minutes expire. Both methods throw like RedisScript.
 */
@Injectable()
export class CallHistory {
  private readonly prefixes: readonly [minutes: string, runs: string];

  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    private readonly config: RedisConfig,
  ) {
    const { redisPrefix: prefix } = config;
    this.prefixes = [`${prefix}:provider-calls:`, `${prefix}:provider-failures:`];
  }

  /** Adds a report; one that is repeated, with the same number of the same process, counts once. Numbers begin at 1. */
  async add(
    { process, number }: { readonly process: string; readonly number: number },
    counts: readonly ReportedCount[],
    runs: readonly ReportedRun[],
  ): Promise<void> {
    const counted = counts.flatMap(({ provider, server = '', model, ending, ageMs, count, ms }) => [
      JSON.stringify([provider, server, model, ending]),
      ...[Math.round(ageMs), count, Math.round(ms)],
    ]);
    const learned = runs.flatMap(({ of, succeededAgeMs, failures, last }) => [
      ...[of, succeededAgeMs === undefined ? '' : Math.round(succeededAgeMs), failures],
      ...(last === undefined ? [0, ''] : [Math.round(last.ageMs), JSON.stringify(last.failure)]),
    ]);
    const keys = [...this.prefixes, `${this.config.redisPrefix}:provider-reports:${process}`];
    await ADD.run(this.redis, keys, [number, counts.length, ...counted, ...learned]);
  }

  /** `of`: names of providers and ids of servers whose runs are asked for. */
  async read(of: readonly string[]): Promise<History> {
    const [current, hashes, found] = (await READ.run(this.redis, this.prefixes, of)) as [
      number,
      string[][],
      [string, string, string][],
    ];
    const minutes = hashes.map((hash, index) => ({
      time: (current - hashes.length + 1 + index) * MINUTE_MS,
      counts: countsOf(hash),
    }));
    const runs = of.map((name, index) => [name, runOf(found[index] ?? ['0', '', '0'])] as const);
    return { minutes, runs: new Map(runs) };
  }
}

function countsOf(hash: readonly string[]): CallCount[] {
  return hash.flatMap((field, index) => {
    if (index % 2 === 1) return [];
    const [provider, server, model, ending] = JSON.parse(field) as [string, string, string, CallEnding];
    const [count = 0, ms = 0] = (hash[index + 1] ?? '').split(' ').map(Number);
    return [{ provider, ...(server !== '' && { server }), model, ending, count, ms }];
  });
}

function runOf([failures, last, at]: readonly [string, string, string]): FailureRun {
  return {
    failures: Number(failures),
    last: last === '' ? undefined : { ...(JSON.parse(last) as CallFailure), at: Number(at) },
  };
}

/** The sums of some calls. */
export interface CallTotals {
  readonly calls: number;
  readonly succeeded: number;
  /** Through the provider's fault: in the next two ways, and others. */
  readonly failed: number;
  readonly rateLimited: number;
  readonly timedOut: number;
  readonly rejected: number;
  readonly canceled: number;
  /** Of successful calls; null if there are none. */
  readonly averageMs: number | null;
}

/** Adds up counts. */
export function totalsOf(counts: readonly CallCount[]): CallTotals {
  const sums = new Map<CallEnding, number>();
  let successMs = 0;
  for (const { ending, count, ms } of counts) {
    sums.set(ending, (sums.get(ending) ?? 0) + count);
    if (ending === 'succeeded') successMs += ms;
  }
  const of = (...endings: readonly CallEnding[]): number => endings.reduce((sum, one) => sum + (sums.get(one) ?? 0), 0);
  const succeeded = of('succeeded');
  return {
    calls: of(...CALL_ENDINGS),
    succeeded,
    failed: of(...FAULTS),
    rateLimited: of('rate_limited'),
    timedOut: of('timed_out'),
    rejected: of('rejected'),
    canceled: of('canceled'),
    averageMs: succeeded === 0 ? null : Math.round(successMs / succeeded),
  };
}
