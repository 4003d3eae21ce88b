import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { serverId, serverLabels, type ProviderEntry } from '#providers/provider-entry.js';
import { Logger } from '#telemetry/logger.js';
import { CallHistory, FAULTS, type CallCount, type CallEnding, type CallFailure } from './call-history.js';

/** How often a process that makes calls reports them, in ms. */
const REPORT_EVERY_MS = 1_000;
const MINUTE_MS = 60_000;
/** Kinds of calls that are kept while Redis does not answer; then the oldest are forgotten. */
const MAX_KINDS = 5_000;

/** A call that has ended. */
export interface EndedCall {
  readonly server: Pick<ProviderEntry, 'name' | 'server'>;
  /** What the provider calls the model. */
  readonly model: string;
  readonly ending: CallEnding;
  readonly ms: number;
  /** Of a call that failed through the provider's fault. */
  readonly failure?: Omit<CallFailure, 'model'> | undefined;
}

interface Counted extends Omit<CallCount, 'count' | 'ms'> {
  count: number;
  ms: number;
  /** When the last of them ended, by the process's own clock. */
  at: number;
}

interface Run {
  /** When the last successful call ended, by the process's own clock, as below. */
  succeededAt?: number;
  /** Since then. */
  failures: number;
  last?: { readonly failure: CallFailure; readonly at: number };
}

interface Report {
  readonly number: number;
  readonly counts: Map<string, Counted>;
  readonly runs: Map<string, Run>;
}

/** Counts the provider calls of this process, and reports them to all processes with one command a second. */
@Injectable()
export class CallCounter implements OnApplicationShutdown {
  private readonly process = randomUUID();
  private next = newReport(1);
  /** What has been sent without an answer; it is repeated unchanged, so that it counts once. */
  private unanswered: Report | undefined;
  private timer: NodeJS.Timeout | undefined;
  private reporting: Promise<void> = Promise.resolve();
  private failing = false;

  constructor(
    private readonly history: CallHistory,
    private readonly logger: Logger,
  ) {}

  /** Counts a call, in the minute in which it ended. */
  ended({ server, model, ending, ms, failure }: EndedCall): void {
    const at = performance.now();
    const labels = serverLabels(server);
    const kind = JSON.stringify([serverId(server), model, ending, Math.floor(at / MINUTE_MS)]);
    const counted = this.next.counts.get(kind) ?? { ...labels, model, ending, count: 0, ms: 0, at };
    this.next.counts.set(kind, counted);
    counted.count += 1;
    counted.ms += ms;
    counted.at = at;
    dropOldest(this.next.counts);
    for (const of of new Set([server.name, serverId(server)]))
      this.learn(of, ending, failure && { ...failure, model }, at);
    this.timer ??= setTimeout(() => void this.report(), REPORT_EVERY_MS).unref();
  }

  /** Reports what was counted so far. Never fails: what Redis did not take is repeated later. */
  async report(): Promise<void> {
    this.reporting = this.reporting.then(() => this.send());
    await this.reporting;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.report();
    clearTimeout(this.timer);
  }

  private learn(of: string, ending: CallEnding, failure: CallFailure | undefined, at: number): void {
    if (ending !== 'succeeded' && !FAULTS.has(ending)) return;
    const run = this.next.runs.get(of) ?? { failures: 0 };
    this.next.runs.set(of, run);
    dropOldest(this.next.runs);
    if (ending === 'succeeded') {
      run.succeededAt = at;
      run.failures = 0;
      return;
    }
    run.failures += 1;
    if (failure !== undefined) run.last = { failure, at };
  }

  private async send(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    while (this.unanswered !== undefined || this.next.counts.size > 0) {
      if (this.unanswered === undefined) {
        this.unanswered = this.next;
        this.next = newReport(this.unanswered.number + 1);
      }
      if (!(await this.tell(this.unanswered))) {
        this.timer ??= setTimeout(() => void this.report(), REPORT_EVERY_MS).unref();
        return;
      }
      this.unanswered = undefined;
    }
  }

  private async tell({ number, counts, runs }: Report): Promise<boolean> {
    const now = performance.now();
    const told = [...counts.values()].map(({ at, ...count }) => ({ ...count, ageMs: now - at }));
    const learned = [...runs].map(([of, { succeededAt, failures, last }]) => ({
      ...{ of, failures },
      ...(succeededAt !== undefined && { succeededAgeMs: now - succeededAt }),
      ...(last && { last: { failure: last.failure, ageMs: now - last.at } }),
    }));
    try {
      await this.history.add({ process: this.process, number }, told, learned);
      this.failing = false;
      return true;
    } catch (error) {
      if (!this.failing) this.logger.warn('provider_calls.not_reported', { error });
      this.failing = true;
      return false;
    }
  }
}

function newReport(number: number): Report {
  return { number, counts: new Map(), runs: new Map() };
}

function dropOldest(map: Map<string, unknown>): void {
  const [oldest] = map.size > MAX_KINDS ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
}
