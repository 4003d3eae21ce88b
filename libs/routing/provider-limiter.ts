import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { serverId, serverLabels, type ProviderEntry } from '#providers/provider-entry.js';
import { ImageQueue } from '#queue/image-queue.js';
import { Metrics } from '#telemetry/metrics.js';
import { DrainedProviders } from './provider-switches.js';
import type { Answer, CallOption, CallReport, LimiterState, LimitedCall } from './limiter-state.js';
import type { Asking, CallPermit, CallRejection } from './call-permit.js';
import { RoutingConfig } from './routing.config.js';
import { SharedLimiter } from './shared-limiter.js';

/** How soon to check a drained provider again; when it will be switched on is unknown. */
const DRAINED_RETRY_MS = 5_000;
/** Renewals of a slot within its lease: enough that one lost renewal does no harm. */
const RENEWALS_PER_LEASE = 3;

/**
 * Limits calls to providers, for all processes together. Without Redis it can't count: then calls pass, because a
 * wrong refusal would stop all work, while exceeding a limit costs at worst a refusal by the provider.
 */
@Injectable()
export class ProviderLimiter implements OnApplicationShutdown {
  private readonly calls = new Set<LimitedCall>();
  /** Reports and calls of jobs that are on their way to Redis. */
  private readonly sending = new Set<Promise<unknown>>();
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly shared: SharedLimiter,
    private readonly drained: DrainedProviders,
    { slotLeaseMs }: RoutingConfig,
    private readonly metrics: Metrics,
    private readonly queue: ImageQueue,
  ) {
    this.timer = setInterval(() => void this.renew(), slotLeaseMs / RENEWALS_PER_LEASE).unref();
  }

  /**
   * Asks for one call to one of the options: servers of one provider, each with a key, of which there is at least one; the
   * best first. The permit names the option. A full or paused server is not waited for while another is free. A task has
   * one slot of a server, however often it asks. A call that resumes a job, which has one option, is never rejected and
   * does not count as a start. Never throws.
   */
  async enter<Option extends CallOption>(
    options: readonly Option[],
    taskId: string,
    asking: Asking = {},
  ): Promise<(CallPermit & { readonly option: Option }) | CallRejection> {
    const isForced = asking.resume === true || asking.isTest === true;
    const open = options.filter(({ provider }) => isForced || !this.drained.has(provider));
    const [first] = open;
    if (first === undefined) {
      return this.refuse(options[0], { reason: 'drained', retryAfterMs: DRAINED_RETRY_MS });
    }
    const task = { permit: randomUUID(), taskId, isImage: (asking.jobId ?? '') !== '', isTest: asking.isTest === true };
    const answer = await this.tell((state) => state.enter(task, open, asking));
    if (answer !== undefined && 'reason' in answer) return this.refuse(answer.option, answer);
    const option = answer?.option ?? first;
    return { option, ...this.permit({ ...task, option }, answer?.startedAt ?? 0) };
  }

  /**
   * Ends the pauses of these servers, which are of one provider, and of their keys: the next task in turn calls at once. Says
   * how many servers had pauses, and how many waiting tasks go on; undefined without Redis. Never throws.
   */
  async endPauses(servers: readonly ProviderEntry[]): Promise<{ ended: number; called: number } | undefined> {
    const told = await this.shared.tell((state) => state.endPauses(servers));
    if (told === undefined) return undefined;
    if (told.called.length > 0) await this.queue.hurry(told.called);
    return { ended: told.answer, called: told.called.length };
  }

  /** Returns the slot of a task at a server, by its id, that ended while parked, when no worker held it. Never throws. */
  async forget(server: string, taskId: string): Promise<void> {
    await this.shared.tell((state) => state.forget(server, taskId));
  }

  /** Calls that this process is making, by the id of their server. */
  inHand(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { option } of this.calls) {
      const server = serverId(option.provider);
      counts.set(server, (counts.get(server) ?? 0) + 1);
    }
    return counts;
  }

  /** Resolves when all reports of permits so far have arrived, or failed, and those whose turn it is were called. */
  async waitForReports(): Promise<void> {
    while (this.sending.size > 0) await Promise.all(this.sending);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  /** Stops renewing slots, and waits for pending reports. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.waitForReports();
  }

  private refuse(option: CallOption | undefined, { reason, retryAfterMs }: CallRejection): CallRejection {
    if (option !== undefined) this.metrics.providerRefusals.inc({ ...serverLabels(option.provider), reason });
    return { reason, retryAfterMs };
  }

  private permit(call: LimitedCall, startedAt: number): CallPermit {
    this.calls.add(call);
    const leave = (report: Omit<CallReport, 'startedAt'>): void => {
      if (!this.calls.delete(call)) return;
      this.send(this.tell((state) => state.leave(call, { ...report, startedAt })));
    };
    return {
      end: (outcome, retryAfterMs) => leave({ outcome, retryAfterMs }),
      park: (keepMs, outcome = 'neutral', retryAfterMs) => leave({ outcome, retryAfterMs, keepMs }),
    };
  }

  /** Tells the shared state, and lets the jobs whose turn has come run at once. */
  private async tell<T>(work: (state: LimiterState) => Promise<Answer<T>>): Promise<T | undefined> {
    const told = await this.shared.tell(work);
    if (told !== undefined && told.called.length > 0) this.send(this.queue.hurry(told.called));
    return told?.answer;
  }

  private send(message: Promise<unknown>): void {
    const sent = message.finally(() => this.sending.delete(sent));
    this.sending.add(sent);
  }

  private async renew(): Promise<void> {
    const calls = [...this.calls];
    if (calls.length > 0) await this.shared.tell((state) => state.renew(calls));
  }
}
