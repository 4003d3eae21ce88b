import { Injectable } from '@nestjs/common';
import { QueueHealth } from '#queue/queue-health.js';
import type { QueueCaller, QueuePlace } from '#queue/fair-order.js';
import { QueueLine } from '#queue/queue-line.js';
import { ServiceTimes, type ServiceRecord } from '#queue/service-times.js';
import { measuredServiceMs, mostBefore, passingMs, serviceMs, waitMs } from './estimate.js';
import { kindOf, type MeasuredOrder } from './service-kind.js';
import type { TaskCommand, TaskSummary } from './task.js';

/** How often a process reads the record that all share. */
const READ_EVERY_MS = 2_000;

/** What can be said about a task's time. What is not known is undefined. */
export interface Outlook {
  /** From acceptance to the end. */
  readonly estimatedMs: number | undefined;
  /** 1 = the next of its own account's. */
  readonly queuePosition: number | undefined;
}

const NOTHING: Outlook = { estimatedMs: undefined, queuePosition: undefined };

/** Says how long tasks will take, from what the workers measured and from the queue. Nothing is guessed without Redis. */
@Injectable()
export class TaskEstimates {
  private record: ServiceRecord | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly times: ServiceTimes,
    private readonly line: QueueLine,
    private readonly health: QueueHealth,
  ) {}

  /** Reads the record now and again and again; until `close`, estimates are at most so old as a reading is. */
  start(): void {
    this.timer ??= setInterval(() => void this.refresh(), READ_EVERY_MS).unref();
    void this.refresh();
  }

  close(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Reads the record. Never fails: without Redis there is none. */
  async refresh(): Promise<void> {
    this.record = await this.times.read().catch(() => undefined);
  }

  /** How many jobs may be before the task's so that it ends in time; undefined = any number. */
  mostBefore(command: TaskCommand, deadlineMs: number): number | undefined {
    return this.record && mostBefore(this.record, kindOf(command), deadlineMs);
  }

  /** From acceptance to the end of a task that has so many before it, in ms. */
  total(command: MeasuredOrder, before: number): number | undefined {
    if (this.record === undefined) return undefined;
    const kind = kindOf(command);
    const service = serviceMs(this.record, kind);
    const wait = waitMs(this.record, before, kind);
    return wait === undefined ? undefined : Math.round(wait + service);
  }

  /** Whether times of such tasks, or of others of their model, are known: else what is told of them is what is usual. */
  isMeasured(order: MeasuredOrder): boolean {
    return this.record !== undefined && measuredServiceMs(this.record, kindOf(order)) !== undefined;
  }

  /**
   * From acceptance to the end of a task that the caller may order now, in ms. Undefined while nothing like it was measured,
   * no worker is there, or Redis does not answer.
   */
  async forecast(caller: QueueCaller, order: MeasuredOrder): Promise<number | undefined> {
    if (!this.isMeasured(order) || !this.health.accepting) return undefined;
    try {
      return this.total(order, await this.line.before(caller));
    } catch {
      this.health.reportFailure();
      return undefined;
    }
  }

  /** How long until so many tasks like this one have gone, in ms. */
  passing(command: TaskCommand, tasks: number): number {
    return (this.record && passingMs(this.record, tasks, kindOf(command))) ?? 0;
  }

  /** Where those of the tasks that wait are in the queue, with one command for all, and none when none waits. */
  async places(tasks: readonly TaskSummary[]): Promise<ReadonlyMap<string, QueuePlace>> {
    const waiting = tasks.flatMap(({ id, phase, underway }) =>
      underway !== null && phase === 'queued' ? [{ taskId: id, epoch: underway.epoch }] : [],
    );
    if (waiting.length === 0 || !this.health.accepting) return new Map();
    return this.line.places(waiting).catch(() => {
      this.health.reportFailure();
      return new Map();
    });
  }

  /**
   * What to tell of a task: of one that has ended, what was estimated when it was accepted; of one that runs, by its
   * provider's times; of one that waits, by its place. Never less than the time that has passed.
   */
  outlook(task: TaskSummary, place?: QueuePlace): Outlook {
    const { underway } = task;
    if (underway === null) return { ...NOTHING, estimatedMs: task.estimatedMs ?? undefined };
    if (this.record === undefined || !this.health.accepting) return NOTHING;
    if (task.phase === 'queued' && place === undefined) {
      // On its way to a worker, or not in line yet: what was estimated when it was accepted is the best there is.
      return {
        ...NOTHING,
        estimatedMs: task.estimatedMs === null ? undefined : Math.max(task.estimatedMs, underway.ageMs),
      };
    }
    const rest = place === undefined ? this.rest(this.record, task) : this.total(task, place.before);
    return {
      queuePosition: place?.position,
      estimatedMs: rest === undefined ? undefined : underway.ageMs + Math.max(0, rest),
    };
  }

  private rest(record: ServiceRecord, task: TaskSummary): number {
    return (
      serviceMs(record, { ...kindOf(task), provider: task.openProvider ?? undefined }) - (task.underway?.runningMs ?? 0)
    );
  }
}
