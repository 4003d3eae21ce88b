import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { CancelTask } from '#tasks/cancel-task.js';
import { TaskEstimates } from '#tasks/task-estimates.js';
import { isTaskId } from '#tasks/task-id.js';
import { TaskStore } from '#tasks/task-store.js';
import type { TaskScope, TaskSummary } from '#tasks/task.js';
import { StreamTask } from './stream-task.js';
import { ShownTasks } from './shown-tasks.js';
import type { TaskViewer } from './visible-tasks.js';
import type { ConsoleTaskView } from './dto/task-views.dto.js';

/** One task that a request of the console names. One outside the scope is none: `task_not_found`. */
@Injectable()
export class OwnTasks {
  constructor(
    private readonly store: TaskStore,
    private readonly shown: ShownTasks,
    private readonly cancelTask: CancelTask,
    private readonly estimates: TaskEstimates,
    private readonly streams: StreamTask,
  ) {}

  async find(scope: TaskScope, id: string): Promise<TaskSummary> {
    return known((await this.isWithin(scope, id)) ? await this.store.find(scope.accountId, id) : undefined);
  }

  /** The task as it is afterwards. */
  async cancel(scope: TaskScope, id: string): Promise<TaskSummary> {
    return known((await this.isWithin(scope, id)) ? await this.cancelTask.cancel(scope.accountId, id) : undefined);
  }

  /** The task as it is afterwards. Throws AppError `invalid_value` as TaskStore.setFavorite. */
  async setFavorite(scope: TaskScope, id: string, isFavorite: boolean): Promise<TaskSummary> {
    const task = await this.find(scope, id);
    await this.store.setFavorite(scope.accountId, id, isFavorite);
    return task;
  }

  async view(viewer: TaskViewer, task: TaskSummary): Promise<ConsoleTaskView> {
    const view = await this.shown.view(viewer, task, (await this.estimates.places([task])).get(task.id));
    if (task.underway === null || this.estimates.isMeasured(task)) return view;
    // What is usual may be far off: the first image of a model would be said to take half a minute.
    const { estimated_time: _, ...rest } = view;
    return rest;
  }

  /** Streams the task's changes, with its partial images, to its end. */
  follow(viewer: TaskViewer, task: TaskSummary, reply: FastifyReply): void {
    this.streams.stream(task, reply, () => this.latest(viewer, task));
  }

  private async isWithin(scope: TaskScope, id: string): Promise<boolean> {
    return isTaskId(id) && (await this.store.within(scope, [id])).has(id);
  }

  /** Read anew, so that timeline and place are of one moment with the rest. */
  private async latest(viewer: TaskViewer, task: TaskSummary): Promise<ConsoleTaskView> {
    return await this.view(viewer, (await this.store.find(viewer.accountId, task.id)) ?? task);
  }
}

function known(task: TaskSummary | undefined): TaskSummary {
  if (task === undefined) throw new AppError('task_not_found', 'There is no such task.');
  return task;
}
