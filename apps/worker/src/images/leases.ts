import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { FirstCalls } from '#tasks/provider-call.js';
import { TaskEventListener } from '#tasks/task-events.js';
import { TaskTransitions, type ClaimedTask } from '#tasks/task-transitions.js';
import type { Lease } from '#tasks/task.js';
import { TasksConfig } from '#tasks/tasks.config.js';
import { Logger } from '#telemetry/logger.js';
import { ShutdownGrace } from './shutdown-grace.js';

/** A cancel that was not heard of is found out at the next renewal, so that comes soon, however long the lease is. */
const RENEW_MS = 2_000;

/** Another worker, a cancel or the deadline took the task away: nothing of it may be written any more. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** The process is stopping and its grace is used up. */
export class ShuttingDown extends Error {
  override readonly name = 'ShuttingDown';
}

/** The task's own time is over. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';
}

/** One claimed task: `signal` is aborted with one of the reasons above. */
export interface LeasedTask extends Lease {
  readonly signal: AbortSignal;
  release(): void;
}

interface Entry extends Lease {
  readonly abort: AbortController;
  renewedAt: number;
}

/** Keeps the leases of all tasks of this process alive, with one statement for all of them. */
@Injectable()
export class Leases implements OnModuleInit {
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
    this.cancels.onCancelled((taskId) => this.lose(taskId));
  }

  get size(): number {
    return this.entries.size;
  }

  /** Aborted with ShuttingDown when the process has used up its grace. */
  get stopping(): AbortSignal {
    return this.stop.signal;
  }

  /** Takes a task, or answers undefined when it is not to be had; calls begin as TaskTransitions says. Throws when the database does not answer. */
  async claim(taskId: string, owner: string, firstCalls: FirstCalls): Promise<ClaimedTask | undefined> {
    return this.transitions.claim(taskId, owner, this.leaseMs, firstCalls);
  }

  /** Begins to renew a lease that was just claimed. `remainingMs` is the time to the task's deadline. */
  keep(lease: Lease, remainingMs: number): LeasedTask {
    const abort = new AbortController();
    const entry: Entry = { id: lease.id, attempt: lease.attempt, abort, renewedAt: Date.now() };
    this.entries.add(entry);
    const deadline = setTimeout(() => abort.abort(new DeadlinePassed()), remainingMs);
    return {
      id: lease.id,
      attempt: lease.attempt,
      signal: abort.signal,
      release: () => {
        clearTimeout(deadline);
        this.entries.delete(entry);
      },
    };
  }

  /** Aborts what runs of a task that was taken away, sooner than the next renewal would find out. */
  lose(taskId: string): void {
    for (const entry of this.entries) if (entry.id === taskId) entry.abort.abort(new LeaseLost());
  }

  /** Calls abortAll() when the grace is over, unless the function it answers with is called before. */
  abortAfterGrace(): () => void {
    const timer = setTimeout(() => this.abortAll(), this.grace.ms);
    return () => clearTimeout(timer);
  }

  /** Aborts all that is still running, so that it is given back. */
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
      // Once a lease may have run out, another worker may have begun: stop before both call the provider.
      for (const entry of entries) {
        if (Date.now() - entry.renewedAt > this.leaseMs) entry.abort.abort(new LeaseLost());
      }
    }
  }
}
