import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { ProviderEntry } from '#providers/provider-entry.js';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';
import { ENTER, FORGET, LEAVE, LOOK, RENEW } from './limiter-scripts.js';
import type { CallOutcome, CallRejection, RefusalReason } from './limiter.js';
import { RoutingConfig } from './routing.config.js';

/** The longest time that a slot or a pause is kept, in ms, whatever a provider says. */
const LONGEST_MS = 3_600_000;

/** A call that may begin, or has begun. */
export interface ProviderCall {
  /** Distinguishes this permit from an earlier or later one of the same task. */
  readonly permit: string;
  readonly provider: string;
  readonly keyName: string;
  readonly taskId: string;
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

type Part = 'calls' | 'owners' | 'starts' | 'breaker' | 'failures' | 'keys';

/**
 * Calls, starts and failures of providers, in Redis and by its clock, so that limits hold for all processes together
 * and each knows at once what another has learned. Each method is one command. All throw like RedisScript.
 */
@Injectable()
export class LimiterState {
  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    private readonly queue: RedisConfig,
    private readonly config: RoutingConfig,
  ) {}

  /** Takes a slot, or returns why there is none; `startedAt` is by Redis's clock, in ms. */
  async enter(
    { permit, provider, keyName, taskId }: ProviderCall,
    { concurrency, startsPerMinute }: ProviderEntry['limits'],
    resume: boolean,
  ): Promise<CallRejection | { readonly startedAt: number }> {
    const keys = this.keys(provider, 'calls', 'owners', 'starts', 'breaker', 'keys');
    const call = [taskId, permit, keyName, resume ? 1 : 0];
    const limits = [this.config.slotLeaseMs, concurrency ?? 0, startsPerMinute ?? 0];
    const [reason, ms] = (await ENTER.run(this.redis, keys, [...call, ...limits])) as [RefusalReason | '', number];
    return reason === '' ? { startedAt: ms } : { reason, retryAfterMs: ms };
  }

  /** Returns the slot, unless the call is parked, and records how the call went. */
  async leave(
    { permit, provider, keyName, taskId }: ProviderCall,
    { outcome, startedAt, retryAfterMs, keepMs }: CallReport,
  ): Promise<void> {
    const { failures, failureWindowMs, pauseMs, keyPauseMs } = this.config;
    const keys = this.keys(provider, 'calls', 'owners', 'breaker', 'failures', 'keys');
    const call = [taskId, permit, keyName, outcome, startedAt, wholeMs(retryAfterMs), wholeMs(keepMs)];
    await LEAVE.run(this.redis, keys, [...call, failures, failureWindowMs, pauseMs, keyPauseMs]);
  }

  /** Returns the slot of a task, whichever permit holds it. */
  async forget(provider: string, taskId: string): Promise<void> {
    await FORGET.run(this.redis, this.keys(provider, 'calls', 'owners'), [taskId]);
  }

  /** Extends the slots of all these calls by another lease. */
  async renew(calls: readonly ProviderCall[]): Promise<void> {
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
      cooling: new Map(
        resting.flatMap((name, index) => (index % 2 === 0 ? [[String(name), Number(resting[index + 1])]] : [])),
      ),
    }));
  }

  private keys(provider: string, ...parts: Part[]): string[] {
    return parts.map((part) => `${this.queue.redisPrefix}:gate:${provider}:${part}`);
  }
}

function wholeMs(ms = 0): number {
  return ms > 0 ? Math.min(LONGEST_MS, Math.ceil(ms)) : 0;
}
