import { randomUUID } from 'node:crypto';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { FirstCalls } from '#tasks/row/provider-call.js';
import { TaskEventListener } from '#tasks/states/task-events.js';
import { TaskTransitions, type ClaimedTask } from '#tasks/states/task-transitions.js';
import type { Lease } from '#tasks/row/task.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { Logger } from '#telemetry/logger.js';
import { ShutdownGrace } from '../providers/shutdown-grace.js';

/** A missed cancel event is noticed at the next renewal, so renewals are frequent, however long the lease is. */
const RENEW_MS = 2_000;

/** The task was claimed by another worker, canceled, or failed at its deadline: nothing more may be written for it. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** The process is stopping and its grace time is over. */
export class ShuttingDown extends Error {
  override readonly name = 'ShuttingDown';
}

/** The task's deadline has passed. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';
}

/** A claimed task; `signal` aborts with one of the errors above. */
export interface LeasedTask extends Lease {
  readonly signal: AbortSignal;
  release(): void;
}

interface Entry extends Lease {
  readonly abort: AbortController;
  renewedAt: number;
}

/** Renews the leases of all tasks of this process in one statement. */
@Injectable()
export class Leases implements OnModuleInit {
  /** This process, as the rows that it leases name it. */
  private readonly owner = randomUUID();
  private readonly entries = new Set<Entry>();
  private readonly timer: NodeJS.Timeout;
  private readonly stop = new AbortController();
  private readonly leaseMs: number;

  constructor(
    private readonly transitions: TaskTransitions,
    { leaseMs }: TasksConfig,
    private readonly cancels: TaskEventListener,
    private readonly logger: Logger,
    private readonly grace: ShutdownGrace,
  ) {
    this.leaseMs = leaseMs;
    this.timer = setInterval(() => void this.renew(), Math.min(leaseMs / 4, RENEW_MS)).unref();
  }

  onModuleInit(): void {
    this.cancels.onCancelled((taskId) => this.revoke(taskId));
  }

  get size(): number {
    return this.entries.size;
  }

  /** Aborts with ShuttingDown when the grace time is over. */
  get stopping(): AbortSignal {
    return this.stop.signal;
  }

  /**
   * Claims a task; undefined when it can't be claimed. `firstCalls` as in TaskTransitions. Throws when the database
   * does not answer.
   */
  async claim(taskId: string, firstCalls: FirstCalls): Promise<ClaimedTask | undefined> {
    return this.transitions.claim(taskId, this.owner, this.leaseMs, firstCalls);
  }

  /** Starts renewing the lease of a task that was just claimed. */
  keep({ task: { id }, attempt, remainingMs }: ClaimedTask): LeasedTask {
    const abort = new AbortController();
    const entry: Entry = { id, attempt, abort, renewedAt: Date.now() };
    this.entries.add(entry);
    const deadline = setTimeout(() => abort.abort(new DeadlinePassed()), remainingMs);
    return {
      id,
      attempt,
      signal: abort.signal,
      release: () => {
        clearTimeout(deadline);
        this.entries.delete(entry);
      },
    };
  }

  /** Aborts the work on a lost task, earlier than the next renewal would. */
  revoke(taskId: string): void {
    for (const entry of this.entries) if (entry.id === taskId) entry.abort.abort(new LeaseLost());
  }

  /** Calls abortAll() when the grace time is over. The returned function cancels that. */
  abortAfterGrace(): () => void {
    const timer = setTimeout(() => this.abortAll(), this.grace.ms);
    return () => clearTimeout(timer);
  }

  /** Aborts all running work, so that it returns to the queue. */
  abortAll(): void {
    this.stop.abort(new ShuttingDown());
    for (const entry of this.entries) entry.abort.abort(new ShuttingDown());
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async renew(): Promise<void> {
    const entries = [...this.entries];
    if (entries.length === 0) return;
    try {
      const asked = Date.now();
      const standing = new Set(
        (await this.transitions.renew(entries, this.leaseMs)).map(({ id, attempt }) => `${id}-${attempt}`),
      );
      for (const entry of entries) {
        if (standing.has(`${entry.id}-${entry.attempt}`)) entry.renewedAt = asked;
        else entry.abort.abort(new LeaseLost());
      }
    } catch (error) {
      this.logger.warn('lease.not_renewed', { count: entries.length, error });
      // Once a lease has ended, another worker may claim its task.
      for (const entry of entries) {
        if (Date.now() - entry.renewedAt > this.leaseMs) entry.abort.abort(new LeaseLost());
      }
    }
  }
}
