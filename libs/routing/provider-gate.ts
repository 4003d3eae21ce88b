import { randomUUID } from 'node:crypto';
import type { ProviderEntry } from '#providers/provider-entry.js';
import type { QueueHealth } from '#queue/queue-health.js';
import type { Logger } from '#telemetry/logger.js';
import type { Metrics } from '#telemetry/metrics.js';
import type { DrainedProviders } from './drained-providers.js';
import type { GateState, ProviderCall } from './gate-state.js';
import type { CallOutcome, Gate, GatePass, GateRefusal } from './gate.js';

/** How soon a drained provider is worth another look: nobody knows when it is switched on. */
const DRAINED_RETRY_MS = 5_000;
/** Slots are renewed so often in the time of their lease that one lost try does no harm. */
const RENEWALS_PER_LEASE = 3;

/** Where calls of this process are kept, and what holds for all processes. */
interface Parts {
  readonly state: GateState;
  readonly drained: DrainedProviders;
  readonly health: QueueHealth;
}

/**
 * The door to the providers: every process asks at its own, and they decide together. Without Redis nobody can count:
 * then calls pass, because a wrong refusal would stop all work and a limit that is exceeded costs a refusal at worst.
 */
export class ProviderGate implements Gate {
  private readonly calls = new Set<ProviderCall>();
  private readonly leaving = new Set<Promise<unknown>>();
  private readonly timer: NodeJS.Timeout;
  private blind = false;

  constructor(
    private readonly parts: Parts,
    slotLeaseMs: number,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {
    this.timer = setInterval(() => void this.renew(), slotLeaseMs / RENEWALS_PER_LEASE).unref();
  }

  async enter(
    entry: ProviderEntry,
    keyName: string,
    taskId: string,
    { resume = false, evenDrained = false }: { readonly resume?: boolean; readonly evenDrained?: boolean } = {},
  ): Promise<GatePass | GateRefusal> {
    if (!resume && !evenDrained && this.parts.drained.has(entry.name))
      return this.refuse(entry, { reason: 'drained', retryAfterMs: DRAINED_RETRY_MS });
    const call = { pass: randomUUID(), provider: entry.name, keyName, taskId };
    const answer = await this.tell((state) => state.enter(call, entry.limits, resume));
    if (answer !== undefined && 'reason' in answer) return this.refuse(entry, answer);
    return this.pass(call, answer?.startedAt ?? 0);
  }

  /** Gives back the slot of a task that has ended, with nobody there who would: it was parked. Never throws. */
  async forget(provider: string, taskId: string): Promise<void> {
    await this.tell((state) => state.forget(provider, taskId));
  }

  /** Calls that this process has in hand, by provider. */
  inHand(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { provider } of this.calls) counts.set(provider, (counts.get(provider) ?? 0) + 1);
    return counts;
  }

  /** Returns when what passes have told so far has arrived, or can't. */
  async settled(): Promise<void> {
    await Promise.all(this.leaving);
  }

  /** Renews nothing more, and settles. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.settled();
  }

  private refuse({ name }: ProviderEntry, refusal: GateRefusal): GateRefusal {
    this.metrics.providerRefusals.inc({ provider: name, reason: refusal.reason });
    return refusal;
  }

  private pass(call: ProviderCall, startedAt: number): GatePass {
    this.calls.add(call);
    const leave = (work: (state: GateState) => Promise<void>): void => {
      if (!this.calls.delete(call)) return;
      const told = this.tell(work).finally(() => this.leaving.delete(told));
      this.leaving.add(told);
    };
    return {
      end: (outcome: CallOutcome, retryAfterMs?: number) => {
        leave((state) => state.leave(call, { outcome, startedAt, retryAfterMs }));
      },
      park: (ms: number) => {
        leave((state) => state.park(call, ms));
      },
    };
  }

  private async renew(): Promise<void> {
    const calls = [...this.calls];
    if (calls.length > 0) await this.tell((state) => state.renew(calls));
  }

  /** Undefined without Redis, which is told once per outage. */
  private async tell<T>(work: (state: GateState) => Promise<T>): Promise<T | undefined> {
    const { state, health } = this.parts;
    if (!health.accepting) return this.withoutRedis();
    try {
      const answer = await work(state);
      this.withRedis();
      return answer;
    } catch (error) {
      health.reportFailure();
      return this.withoutRedis(error);
    }
  }

  /** A late answer while Redis is taken for down does not mean that the next call is counted. */
  private withRedis(): void {
    if (!this.blind || !this.parts.health.accepting) return;
    this.logger.info('gate.counts_again');
    this.blind = false;
  }

  private withoutRedis(error?: unknown): undefined {
    if (!this.blind) this.logger.warn('gate.without_redis', { error });
    this.blind = true;
  }
}
