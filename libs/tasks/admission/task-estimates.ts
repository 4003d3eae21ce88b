import { Injectable } from '@nestjs/common';
import { QueueHealth } from '#queue/queue-health.js';
import type { QueueCaller, QueuePosition } from '#queue/fair-order.js';
import { QueueLine } from '#queue/queue-line.js';
import { ServiceTimes, type ServiceRecord } from '#queue/service-times.js';
import { measuredServiceMs, mostBefore, passingMs, serviceMs, waitMs } from './estimate.js';
import { kindOf, type MeasuredOrder } from '../row/service-kind.js';
import type { TaskCommand, TaskSummary } from '../row/task.js';

/** How often a process reads the shared record of service times. */
const READ_EVERY_MS = 2_000;

/** A task's estimated time and its position in the queue; unknown values are undefined. */
export interface Outlook {
  /** Milliseconds from acceptance to the end. */
  readonly estimatedMs: number | undefined;
  /** Among its own account's tasks; 1 = next. */
  readonly queuePosition: number | undefined;
}

const NOTHING: Outlook = { estimatedMs: undefined, queuePosition: undefined };

/** Estimates how long tasks will take, from the workers' measurements and the queue. No estimates without Redis. */
@Injectable()
export class TaskEstimates {
  private record: ServiceRecord | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly times: ServiceTimes,
    private readonly line: QueueLine,
    private readonly health: QueueHealth,
  ) {}

  /** Reads the record now, and then every READ_EVERY_MS until `close`, so that estimates use a recent one. */
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

  /** How many jobs may be ahead of the task's for it to still end in time; undefined = any number. */
  mostBefore(command: TaskCommand, deadlineMs: number): number | undefined {
    return this.record && mostBefore(this.record, kindOf(command), deadlineMs);
  }

  /** Milliseconds from acceptance to the end of a task with `before` jobs ahead of it; undefined when unknown. */
  total(command: MeasuredOrder, before: number): number | undefined {
    if (this.record === undefined) return undefined;
    const kind = kindOf(command);
    const service = serviceMs(this.record, kind);
    const wait = waitMs(this.record, before, kind);
    return wait === undefined ? undefined : Math.round(wait + service);
  }

  /** Whether such tasks, or others of their model, were measured; if not, estimates use typical times. */
  isMeasured(order: MeasuredOrder): boolean {
    return this.record !== undefined && measuredServiceMs(this.record, kindOf(order)) !== undefined;
  }

  /**
   * Milliseconds from acceptance to the end of a task that the caller would order now. Undefined while nothing like it
   * was measured, no worker is running, or Redis does not answer.
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

  /** How long until `tasks` tasks like this one have ended, in ms; 0 when unknown. */
  passing(command: TaskCommand, tasks: number): number {
    return (this.record && passingMs(this.record, tasks, kindOf(command))) ?? 0;
  }

  /** Queue positions of the waiting tasks among these, by task id: one Redis command for all, none if no task waits. */
  async positions(tasks: readonly TaskSummary[]): Promise<ReadonlyMap<string, QueuePosition>> {
    const waiting = tasks.flatMap(({ id, phase, underway }) =>
      underway !== null && phase === 'queued' ? [{ taskId: id, epoch: underway.epoch }] : [],
    );
    if (waiting.length === 0 || !this.health.accepting) return new Map();
    return this.line.positions(waiting).catch(() => {
      this.health.reportFailure();
      return new Map();
    });
  }

  /**
   * The outlook of a task. If it has ended: the estimate from its acceptance. If it is running: from its provider's
   * times. If it is waiting: from its position. Never less than the time that has passed. `heldMs`: how long no provider
   * may be called for a waiting task; its image is made after that. Null: nobody knows, so there is no estimate.
   */
  outlook(task: TaskSummary, position?: QueuePosition, heldMs: number | null = 0): Outlook {
    const { underway } = task;
    if (underway === null) return { ...NOTHING, estimatedMs: task.estimatedMs ?? undefined };
    if (this.record === undefined || !this.health.accepting) return NOTHING;
    const usual = this.usualMs(this.record, task, underway.ageMs, position);
    if (task.phase !== 'queued' || heldMs === 0) return { queuePosition: position?.position, estimatedMs: usual };
    const held = heldMs === null ? undefined : underway.ageMs + heldMs + serviceMs(this.record, kindOf(task));
    return {
      queuePosition: position?.position,
      estimatedMs: held === undefined ? undefined : Math.max(held, usual ?? 0),
    };
  }

  /** Where its provider may be called. */
  private usualMs(
    record: ServiceRecord,
    task: TaskSummary,
    ageMs: number,
    position: QueuePosition | undefined,
  ): number | undefined {
    // On its way to a worker, or not in line yet: the estimate from its acceptance is the best available.
    if (task.phase === 'queued' && position === undefined)
      return task.estimatedMs === null ? undefined : Math.max(task.estimatedMs, ageMs);
    const rest = position === undefined ? this.rest(record, task) : this.total(task, position.before);
    return rest === undefined ? undefined : ageMs + Math.max(0, rest);
  }

  private rest(record: ServiceRecord, task: TaskSummary): number {
    return (
      serviceMs(record, { ...kindOf(task), provider: task.openProvider ?? undefined }) - (task.underway?.runningMs ?? 0)
    );
  }
}
