import { Inject, Injectable } from '@nestjs/common';
import type { ProviderEntry } from '#providers/provider-entry.js';
import type { GatheringRedis } from '#redis/gathering-redis.js';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';
import { IMAGE_QUEUE } from '#queue/job-catalog.js';
import { ENTER, FORGET, IMAGES_ONLY, LEAVE, LOOK, RENEW } from './limiter-scripts.js';
import type { Asking, CallOutcome, CallRejection, RefusalReason } from './call-permit.js';
import { LINE_PARTS } from './provider-line.js';
import { RoutingConfig } from './routing.config.js';

/** The longest time that a slot or a pause is kept, in ms, whatever a provider says. */
const LONGEST_MS = 3_600_000;
/** Failures further apart than this, in ms, are not one outage. */
const FAILURE_WINDOW_MS = 300_000;

/** A call that may begin, or has begun. */
export interface LimitedCall {
  /** Distinguishes this permit from an earlier or later one of the same task. */
  readonly permit: string;
  readonly provider: string;
  readonly keyName: string;
  readonly taskId: string;
  /** Whether it is for an image: what such a call says of its key does not keep chats from using it. */
  readonly isImage: boolean;
  /** Of its provider, by which places are given away. */
  readonly limits: ProviderEntry['limits'];
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

/** What all processes together know of a provider. */
export interface ProviderState {
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

type Part = (typeof LINE_PARTS)[number] | 'breaker' | 'failures' | 'keys';

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

  /** Takes a slot, or returns why there is none; `startedAt` is by Redis's clock, in ms. */
  async enter(
    call: LimitedCall,
    { resume = false, caller, jobId = '', remainingMs = LONGEST_MS }: Asking,
  ): Promise<Answer<CallRejection | { readonly startedAt: number }>> {
    const { permit, provider, keyName, taskId, isImage } = call;
    const keys = this.keys(provider, ...LINE_PARTS, 'breaker', 'keys');
    const asks = [taskId, permit, isImage ? imagesOf(keyName) : keyName, resume ? 1 : 0, this.config.slotLeaseMs];
    const who = caller && [caller.accountId, caller.accountWeight, caller.originalKeyId, caller.weight];
    const values = [...this.lineOf(call), ...asks, ...(who ? [...who, jobId, wholeMs(remainingMs)] : [])];
    const [reason, ms, called] = (await ENTER.run(this.redis, keys, values)) as [RefusalReason | '', number, string[]];
    return { answer: reason === '' ? { startedAt: ms } : { reason, retryAfterMs: ms }, called };
  }

  /**
   * Returns the slot, unless the call is parked, and records how the call went. The success of a provider whose slots
   * are not limited is sent with the next commands, which are those of the task's end, so that it costs no write.
   */
  async leave(call: LimitedCall, { outcome, startedAt, retryAfterMs, keepMs }: CallReport): Promise<Answer<void>> {
    if (outcome === 'succeeded' && !isLimited(call)) await this.redis.company(SUCCESS_WAITS_MS);
    const { permit, provider, keyName, taskId, isImage } = call;
    const { failures, pauseMs, keyPauseMs } = this.config;
    const keys = this.keys(provider, ...LINE_PARTS, 'breaker', 'keys', 'failures');
    const report = [
      taskId,
      permit,
      isImage ? imagesOf(keyName) : keyName,
      outcome,
      startedAt,
      wholeMs(retryAfterMs),
      wholeMs(keepMs),
    ];
    const values = [...this.lineOf(call), ...report, failures, FAILURE_WINDOW_MS, pauseMs, keyPauseMs];
    return { answer: undefined, called: (await LEAVE.run(this.redis, keys, values)) as string[] };
  }

  /** Returns the slot of a task, whichever permit holds it. */
  async forget(provider: string, taskId: string): Promise<void> {
    await FORGET.run(this.redis, this.keys(provider, 'calls', 'owners'), [taskId]);
  }

  /** Extends the slots of all these calls by another lease. */
  async renew(calls: readonly LimitedCall[]): Promise<void> {
    const providers = [...new Set(calls.map(({ provider }) => provider))];
    const keys = providers.flatMap((provider) => this.keys(provider, 'calls', 'owners'));
    const values = calls.flatMap(({ provider, taskId, permit }) => [
      2 * providers.indexOf(provider) + 1,
      taskId,
      permit,
    ]);
    await RENEW.run(this.redis, keys, [this.config.slotLeaseMs, ...values]);
  }

  /** The states of the named providers, in their order. */
  async statesOf(providers: readonly string[]): Promise<ProviderState[]> {
    const keys = providers.flatMap((provider) => this.keys(provider, 'calls', 'starts', 'breaker', 'keys'));
    const rows = (await LOOK.run(this.redis, keys, [])) as [number, number, number, number, (string | number)[]][];
    return rows.map(([calls, starts, trips, openMs, resting]) => ({
      calls,
      starts,
      breaker: trips === 0 ? 'closed' : openMs > 0 ? 'open' : 'half-open',
      openMs,
      cooling: pausesOf(resting),
    }));
  }

  /** What the scripts of the line need besides its keys. */
  private lineOf({ provider, limits: { concurrency = 0, startsPerMinute = 0 } }: LimitedCall): (string | number)[] {
    const { redisPrefix: prefix } = this.redisConfig;
    return [`${prefix}:gate:${provider}`, `${prefix}:${IMAGE_QUEUE}`, concurrency, startsPerMinute];
  }

  /** In Redis, the limiter is called `gate`. */
  private keys(provider: string, ...parts: Part[]): string[] {
    return parts.map((part) => `${this.redisConfig.redisPrefix}:gate:${provider}:${part}`);
  }
}

/** A key's field for images, beside the one for all calls, which has its plain name. */
function imagesOf(keyName: string): string {
  return `${keyName}${IMAGES_ONLY}`;
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

function isLimited({ limits: { concurrency = 0, startsPerMinute = 0 } }: LimitedCall): boolean {
  return concurrency > 0 || startsPerMinute > 0;
}

function wholeMs(ms = 0): number {
  return ms > 0 ? Math.min(LONGEST_MS, Math.ceil(ms)) : 0;
}
