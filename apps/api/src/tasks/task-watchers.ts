import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { TaskEventListener } from '#tasks/states/task-events.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import type { TaskSummary } from '#tasks/row/task.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';

/** How often all watched tasks are checked together, in case events were lost. */
const RECHECK_MS = 1_500;
const LOOK_BATCH = 1_000;

/** Called with the row after every query, changed or not, in order; undefined once the row is gone. */
export type Watcher = (task: TaskSummary | undefined) => void;

/**
 * Lets callers watch their tasks, with one map and one query at a time for the whole process, on its existing
 * subscription. Events only trigger queries, so a lost one delays an update by up to a second and a half.
 */
@Injectable()
export class TaskWatchers implements OnApplicationShutdown {
  private readonly watchers = new Map<string, Set<Watcher>>();
  private readonly heard = new Set<string>();
  private looking = false;
  private readonly recheck: NodeJS.Timeout;

  constructor(
    private readonly store: TaskStore,
    events: TaskEventListener,
    private readonly logger: Logger,
    metrics: Metrics,
  ) {
    metrics.gauge('followed_tasks', 'Tasks followed by long polls and event streams on this process.', () => this.size);
    const hear = (taskId: string): void => this.hear(taskId);
    events.onChanged(hear);
    events.onSettled(hear);
    this.recheck = setInterval(() => {
      for (const taskId of this.watchers.keys()) this.hear(taskId);
    }, RECHECK_MS).unref();
  }

  /** Number of watched tasks. */
  get size(): number {
    return this.watchers.size;
  }

  /** Starts with a query, because the task may have changed before. Returns a function that ends the watch. */
  watch(taskId: string, watcher: Watcher): () => void {
    const watching = this.watchers.get(taskId) ?? new Set();
    this.watchers.set(taskId, watching.add(watcher));
    this.logger.debug('task.watched', { taskId, count: this.size });
    this.hear(taskId);
    return () => {
      if (!watching.delete(watcher)) return;
      if (watching.size === 0 && this.watchers.get(taskId) === watching) this.watchers.delete(taskId);
      this.logger.debug('task.unwatched', { taskId, count: this.size });
    };
  }

  onApplicationShutdown(): void {
    clearInterval(this.recheck);
  }

  private hear(taskId: string): void {
    if (!this.watchers.has(taskId)) return;
    this.heard.add(taskId);
    if (this.looking) return;
    this.looking = true;
    setImmediate(() => void this.lookWhileHeard());
  }

  /**
   * Queries run one after the other, so that no watcher sees an older row last; events during a query trigger the next
   * one.
   */
  private async lookWhileHeard(): Promise<void> {
    while (this.heard.size > 0) {
      const ids = [...this.heard].slice(0, LOOK_BATCH);
      for (const id of ids) this.heard.delete(id);
      await this.look(ids);
    }
    this.looking = false;
  }

  private async look(ids: readonly string[]): Promise<void> {
    try {
      const tasks = new Map((await this.store.look(ids)).map((task) => [task.id, task]));
      for (const id of ids) for (const watcher of [...(this.watchers.get(id) ?? [])]) watcher(tasks.get(id));
    } catch (error) {
      // The next check is at most RECHECK_MS away.
      this.logger.warn('watch.look_failed', { count: ids.length, error });
    }
  }
}
