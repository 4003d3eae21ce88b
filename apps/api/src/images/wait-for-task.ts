import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { TaskEventListener } from '#tasks/states/task-events.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import { withOutcome, type TaskOutcome, type TaskSummary } from '#tasks/row/task.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';

/** How often all waiting tasks are checked together, in case events were lost. */
const RECHECK_MS = 1_500;
const RECHECK_BATCH = 5_000;

interface Waiter {
  /** As accepted. */
  readonly task: TaskSummary;
  readonly answer: (task: TaskSummary | undefined) => void;
}

/**
 * Lets callers wait for their task, with one subscription and one map for the whole process. The event of a completed
 * task contains its outcome, so no query is needed; other events trigger a query. A lost event delays the response by
 * up to a second and a half.
 */
@Injectable()
export class WaitForTask implements OnApplicationShutdown {
  private readonly waiters = new Map<string, Set<Waiter>>();
  private pendingReads = new Set<string>();
  /** Tasks that ended before their caller started to wait, in this interval and the previous one. */
  private endedEarly = new Set<string>();
  private endedBefore = new Set<string>();
  private readonly recheck: NodeJS.Timeout;

  constructor(
    private readonly store: TaskStore,
    events: TaskEventListener,
    private readonly logger: Logger,
    metrics: Metrics,
  ) {
    metrics.gauge('held_tasks', 'Tasks whose synchronous callers are waiting on this process.', () => this.size);
    events.onSettled((taskId, outcome) => {
      if (this.waiters.has(taskId)) this.onEnded(taskId, outcome());
      else this.endedEarly.add(taskId);
    });
    this.recheck = setInterval(() => {
      [this.endedBefore, this.endedEarly] = [this.endedEarly, new Set()];
      void this.readRows([...this.waiters.keys()]);
    }, RECHECK_MS).unref();
  }

  /** Number of waiting callers. */
  get size(): number {
    return this.waiters.size;
  }

  /**
   * The finished task, or undefined when it still runs after `timeoutMs` or the signal aborts. `mayHaveEnded`: the task
   * is not new, so its row is read first.
   */
  async settled(
    task: TaskSummary,
    timeoutMs: number,
    signal?: AbortSignal,
    mayHaveEnded = false,
  ): Promise<TaskSummary | undefined> {
    return new Promise((resolve) => {
      const answer = (result: TaskSummary | undefined): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', giveUp);
        this.remove(waiter);
        resolve(result);
      };
      const waiter = { task, answer };
      const giveUp = (): void => {
        answer(undefined);
      };
      const timer = setTimeout(giveUp, timeoutMs);
      signal?.addEventListener('abort', giveUp, { once: true });
      this.add(waiter);
      if (signal?.aborted) giveUp();
      else if (mayHaveEnded || this.endedEarly.has(task.id) || this.endedBefore.has(task.id)) this.onEnded(task.id);
    });
  }

  onApplicationShutdown(): void {
    clearInterval(this.recheck);
  }

  /** One query serves all events of an event loop turn that contain no outcome. */
  private onEnded(taskId: string, outcome?: TaskOutcome): void {
    if (outcome !== undefined) {
      for (const { task, answer } of [...(this.waiters.get(taskId) ?? [])]) answer(withOutcome(task, outcome));
      return;
    }
    if (this.pendingReads.size === 0) {
      setImmediate(() => {
        const ids = [...this.pendingReads];
        this.pendingReads = new Set();
        void this.readRows(ids);
      });
    }
    this.pendingReads.add(taskId);
  }

  private async readRows(ids: readonly string[]): Promise<void> {
    try {
      for (let start = 0; start < ids.length; start += RECHECK_BATCH) {
        for (const task of await this.store.finished(ids.slice(start, start + RECHECK_BATCH))) {
          for (const { answer } of [...(this.waiters.get(task.id) ?? [])]) answer(task);
        }
      }
    } catch (error) {
      // The next check is at most RECHECK_MS away.
      this.logger.warn('wait.look_failed', { count: ids.length, error });
    }
  }

  private add(waiter: Waiter): void {
    const { id } = waiter.task;
    const others = this.waiters.get(id);
    if (others === undefined) this.waiters.set(id, new Set([waiter]));
    else others.add(waiter);
  }

  private remove(waiter: Waiter): void {
    const { id } = waiter.task;
    const others = this.waiters.get(id);
    others?.delete(waiter);
    if (others?.size === 0) this.waiters.delete(id);
  }
}
