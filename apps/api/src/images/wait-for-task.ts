import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { TaskEventListener } from '#tasks/task-events.js';
import { TaskStore } from '#tasks/task-store.js';
import type { Task } from '#tasks/task.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';

/** How often all waiting tasks are looked at together, for events that were lost. */
const RECHECK_MS = 1_500;
const RECHECK_BATCH = 5_000;

type Waiter = (task: Task) => void;

/**
 * Lets callers wait for their task: one subscription and one map for the whole process.
 * An event only says where to look; the answer is always the row, so a lost message costs a second and a half.
 */
@Injectable()
export class WaitForTask implements OnApplicationShutdown {
  private readonly waiters = new Map<string, Set<Waiter>>();
  private heard = new Set<string>();
  /** Tasks that ended before their caller waited, in this interval and the one before: a quick task may. */
  private early = new Set<string>();
  private earlier = new Set<string>();
  private readonly recheck: NodeJS.Timeout;

  constructor(
    private readonly store: TaskStore,
    events: TaskEventListener,
    private readonly logger: Logger,
    metrics: Metrics,
  ) {
    metrics.gauge('held_tasks', 'Tasks whose sync callers this process holds.', () => this.size);
    events.onSettled((taskId) => {
      if (this.waiters.has(taskId)) this.hear(taskId);
      else this.early.add(taskId);
    });
    this.recheck = setInterval(() => {
      [this.earlier, this.early] = [this.early, new Set()];
      void this.look([...this.waiters.keys()]);
    }, RECHECK_MS).unref();
  }

  /** Callers waiting now. */
  get size(): number {
    return this.waiters.size;
  }

  /**
   * The finished task, or undefined when it still runs after `timeoutMs` or the signal is aborted.
   * `mayHaveEnded` says that the task is not new, so that its row is looked at first.
   */
  async settled(
    task: { readonly id: string },
    timeoutMs: number,
    signal?: AbortSignal,
    mayHaveEnded = false,
  ): Promise<Task | undefined> {
    return new Promise((resolve) => {
      const finish = (result: Task | undefined): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', giveUp);
        this.remove(task.id, finish);
        resolve(result);
      };
      const giveUp = (): void => {
        finish(undefined);
      };
      const timer = setTimeout(giveUp, timeoutMs);
      signal?.addEventListener('abort', giveUp, { once: true });
      this.add(task.id, finish);
      if (signal?.aborted) giveUp();
      else if (mayHaveEnded || this.early.has(task.id) || this.earlier.has(task.id)) this.hear(task.id);
    });
  }

  onApplicationShutdown(): void {
    clearInterval(this.recheck);
  }

  /** All events of one turn of the event loop are answered by one query. */
  private hear(taskId: string): void {
    if (this.heard.size === 0) {
      setImmediate(() => {
        const ids = [...this.heard];
        this.heard = new Set();
        void this.look(ids);
      });
    }
    this.heard.add(taskId);
  }

  private async look(ids: readonly string[]): Promise<void> {
    try {
      for (let start = 0; start < ids.length; start += RECHECK_BATCH) {
        for (const task of await this.store.finished(ids.slice(start, start + RECHECK_BATCH))) {
          for (const waiter of [...(this.waiters.get(task.id) ?? [])]) waiter(task);
        }
      }
    } catch (error) {
      // The next look is at most RECHECK_MS away.
      this.logger.warn('wait.look_failed', { count: ids.length, error });
    }
  }

  private add(taskId: string, waiter: Waiter): void {
    const others = this.waiters.get(taskId);
    if (others === undefined) this.waiters.set(taskId, new Set([waiter]));
    else others.add(waiter);
  }

  private remove(taskId: string, waiter: Waiter): void {
    const others = this.waiters.get(taskId);
    others?.delete(waiter);
    if (others?.size === 0) this.waiters.delete(taskId);
  }
}
