import { Inject, Injectable } from '@nestjs/common';
import { serverId, type ProviderEntry } from '#providers/provider-entry.js';
import type { GatheringRedis } from '#redis/gathering-redis.js';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';
import { IMAGE_QUEUE } from '#queue/job-catalog.js';
import { END_PAUSES, ENTER, FORGET, IMAGES_ONLY, LEAVE, LOOK, RENEW } from './limiter-scripts.js';
import type { Asking, CallOutcome, CallRejection, RefusalReason } from './call-permit.js';
import { LINE_PARTS, SERVER_PARTS } from './provider-line.js';
import { RoutingConfig } from './routing.config.js';

/** The longest time that a slot or a pause is kept, in ms, whatever a provider says. */
const LONGEST_MS = 3_600_000;
/** Failures further apart than this, in ms, are not one outage. */
const FAILURE_WINDOW_MS = 300_000;

/** Where a call may go: a server, and one of its keys. */
export interface CallOption {
  readonly provider: ProviderEntry;
  /** Absent where the server has no keys. */
  readonly key?: { readonly name: string } | undefined;
}

/** Whose permit is asked for. */
export interface LimitedTask {
  /** Distinguishes this permit from an earlier or later one of the same task. */
  readonly permit: string;
  readonly taskId: string;
  /** Whether it is for an image: what such a call says of its key does not keep chats from using it. */
  readonly isImage: boolean;
  /** Whether an operator tests the provider: its success ends the pause of its key. */
  readonly isTest?: boolean;
}

/** A call that has begun. */
export interface LimitedCall extends LimitedTask {
  readonly option: CallOption;
}

/** What the shared state answers, and the image jobs whose turn has come. */
export interface Answer<T> {
  readonly answer: T;
  readonly called: readonly string[];
}

/** How a call ended or was parked. */
export interface CallReport {
  readonly outcome: CallOutcome;
  /** When the call began, by Redis's clock, in ms. */
  readonly startedAt: number;
  /** How long the provider said to wait, in ms. */
  readonly retryAfterMs?: number | undefined;
  /** How long a parked call keeps its slot without renewals, in ms. */
  readonly keepMs?: number;
}

/** How long the report of a success may wait to be sent with other commands, in ms. */
const SUCCESS_WAITS_MS = 100;

/** What all processes together know of a server. */
export interface ServerState {
  /** Calls that are running or parked. */
  readonly calls: number;
  /** Calls begun in the last minute; without a limit on them, STARTS_KEPT at most. */
  readonly starts: number;
  readonly breaker: 'closed' | 'open' | 'half-open';
  /** Milliseconds until an open breaker lets a probe through. */
  readonly openMs: number;
  /** Names of keys that were refused, and the milliseconds until their pauses end. */
  readonly cooling: ReadonlyMap<string, number>;
}

type Part = (typeof LINE_PARTS)[number] | (typeof SERVER_PARTS)[number] | 'failures';

/**
 * Calls, starts and failures of providers, in Redis and by its clock, so that limits hold for all processes together
 * and each knows at once what another has learned. Each method is one command. All throw like RedisScript.
 */
@Injectable()
export class LimiterState {
  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: GatheringRedis,
    private readonly redisConfig: RedisConfig,
    private readonly config: RoutingConfig,
  ) {}

  /**
   * Takes a slot at one of the options, which are of one provider, best first; or returns the reason that ends first, why
   * there is none. `startedAt` is by Redis's clock, in ms.
   */
  async enter<Option extends CallOption>(
    { permit, taskId, isImage, isTest = false }: LimitedTask,
    options: readonly Option[],
    { resume = false, caller, jobId = '', remainingMs = LONGEST_MS, needs = '' }: Asking,
  ): Promise<Answer<{ readonly option: Option } & (CallRejection | { readonly startedAt: number })>> {
    const ids = [...new Set(options.map(({ provider }) => serverId(provider)))];
    const servers = ids.map(
      (id) => options.find(({ provider }) => serverId(provider) === id)?.provider as ProviderEntry,
    );
    const places = options.flatMap((option) => [ids.indexOf(serverId(option.provider)) + 1, fieldOf(option, isImage)]);
    const how = [resume ? 1 : 0, isTest ? 1 : 0, this.config.slotLeaseMs, needs];
    const asks = [taskId, permit, ...how, options.length, ...places];
    const who = caller && [caller.accountId, caller.accountWeight, caller.originalKeyId, caller.weight];
    const values = [...this.valuesOf(servers), ...asks, ...(who ? [...who, jobId, wholeMs(remainingMs)] : [])];
    const answer = await ENTER.run(this.redis, this.keysOf(servers), values);
    const [reason, ms, index, called] = answer as [RefusalReason | '', number, number, string[]];
    const option = options[index - 1] as Option;
    return { answer: reason === '' ? { startedAt: ms, option } : { reason, retryAfterMs: ms, option }, called };
  }

  /**
   * Returns the slot, unless the call is parked, and records how the call went. The success of a provider whose slots
   * are not limited is sent with the next commands, which are those of the task's end, so that it costs no write.
   */
  async leave(call: LimitedCall, { outcome, startedAt, retryAfterMs, keepMs }: CallReport): Promise<Answer<void>> {
    const { permit, option, taskId, isImage, isTest = false } = call;
    const { provider } = option;
    if (outcome === 'succeeded' && !isLimited(provider)) await this.redis.company(SUCCESS_WAITS_MS);
    const { failures, pauseMs, keyPauseMs } = this.config;
    const keys = [...this.keysOf([provider]), ...this.keys(serverId(provider), 'failures')];
    const report = [outcome, startedAt, wholeMs(retryAfterMs), wholeMs(keepMs)];
    const rules = [failures, FAILURE_WINDOW_MS, pauseMs, keyPauseMs, provider.keys.length < 2 ? 1 : 0, isTest ? 1 : 0];
    const asks = [taskId, permit, fieldOf(option, isImage), ...report, ...rules];
    const called = await LEAVE.run(this.redis, keys, [...this.valuesOf([provider]), ...asks]);
    return { answer: undefined, called: called as string[] };
  }

  /** Ends the pauses of these servers, which are of one provider, and of their keys. Answers how many had any. */
  async endPauses(servers: readonly ProviderEntry[]): Promise<Answer<number>> {
    const ended = await END_PAUSES.run(this.redis, this.keysOf(servers), this.valuesOf(servers));
    const [answer, called] = ended as [number, string[]];
    return { answer, called };
  }

  /** Returns the slot of a task at a server, by its id, whichever permit holds it. */
  async forget(server: string, taskId: string): Promise<void> {
    await FORGET.run(this.redis, this.keys(server, 'calls', 'owners'), [taskId]);
  }

  /** Extends the slots of all these calls by another lease. */
  async renew(calls: readonly LimitedCall[]): Promise<void> {
    const servers = [...new Set(calls.map(({ option }) => serverId(option.provider)))];
    const keys = servers.flatMap((server) => this.keys(server, 'calls', 'owners'));
    const values = calls.flatMap(({ option, taskId, permit }) => [
      2 * servers.indexOf(serverId(option.provider)) + 1,
      taskId,
      permit,
    ]);
    await RENEW.run(this.redis, keys, [this.config.slotLeaseMs, ...values]);
  }

  /** The states of servers, by their ids, in their order. */
  async statesOf(servers: readonly string[]): Promise<ServerState[]> {
    const keys = servers.flatMap((server) => this.keys(server, 'calls', 'starts', 'breaker', 'keys'));
    const rows = (await LOOK.run(this.redis, keys, [])) as [number, number, number, number, (string | number)[]][];
    return rows.map(([calls, starts, trips, openMs, resting]) => ({
      calls,
      starts,
      breaker: trips === 0 ? 'closed' : openMs > 0 ? 'open' : 'half-open',
      openMs,
      cooling: pausesOf(resting),
    }));
  }

  /** The keys that the scripts of the line expect for a provider and some of its servers. */
  private keysOf(servers: readonly ProviderEntry[]): string[] {
    const line = this.keys(servers[0]?.name ?? '', ...LINE_PARTS);
    return [...line, ...servers.flatMap((server) => this.keys(serverId(server), ...SERVER_PARTS))];
  }

  /** What these scripts need besides their keys. */
  private valuesOf(servers: readonly ProviderEntry[]): (string | number)[] {
    const { redisPrefix: prefix } = this.redisConfig;
    const each = servers.flatMap(({ server = '', limits: { concurrency = 0, startsPerMinute = 0 } }) => {
      return [server, concurrency, startsPerMinute];
    });
    return [`${prefix}:gate:${servers[0]?.name ?? ''}`, `${prefix}:${IMAGE_QUEUE}`, servers.length, ...each];
  }

  /** In Redis, the limiter is called `gate`. `of`: the name of a provider, or the id of a server. */
  private keys(of: string, ...parts: Part[]): string[] {
    return parts.map((part) => `${this.redisConfig.redisPrefix}:gate:${of}:${part}`);
  }
}

/** A key's field: one for images, beside the one for all calls, which has its plain name. */
function fieldOf({ key }: CallOption, isImage: boolean): string {
  return `${key?.name ?? ''}${isImage ? IMAGES_ONLY : ''}`;
}

/** The longest pause of each key, whether for all calls or for images alone. */
function pausesOf(resting: readonly (string | number)[]): Map<string, number> {
  const pauses = new Map<string, number>();
  for (let at = 0; at < resting.length; at += 2) {
    const name = String(resting[at]).replace(IMAGES_ONLY, '');
    pauses.set(name, Math.max(pauses.get(name) ?? 0, Number(resting[at + 1])));
  }
  return pauses;
}

function isLimited({ limits: { concurrency = 0, startsPerMinute = 0 } }: ProviderEntry): boolean {
  return concurrency > 0 || startsPerMinute > 0;
}

function wholeMs(ms = 0): number {
  return ms > 0 ? Math.min(LONGEST_MS, Math.ceil(ms)) : 0;
}
