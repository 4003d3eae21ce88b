import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { CancelTask } from '#tasks/states/cancel-task.js';
import { isTaskId } from '#tasks/row/task-id.js';
import { TaskPartialsListener } from '#tasks/states/task-partials.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import { isDeleted, taskDeleted, type TaskScope, type TaskSummary } from '#tasks/row/task.js';
import type { EventStream } from '../../common/events/event-stream.js';
import { FollowTask } from '../../tasks/follow-task.js';
import { ShownTasks } from './shown-tasks.js';
import type { TaskViewer } from './visible-tasks.js';
import type { ConsoleTaskView, PartialPictureView } from './dto/task-views.dto.js';

/** Single tasks of a scope. A task outside the scope is `task_not_found`, a deleted one `task_deleted`. */
@Injectable()
export class OwnTasks {
  constructor(
    private readonly store: TaskStore,
    private readonly shown: ShownTasks,
    private readonly cancelTask: CancelTask,
    private readonly followers: FollowTask,
    private readonly partials: TaskPartialsListener,
  ) {}

  async find(scope: TaskScope, id: string): Promise<TaskSummary> {
    return kept(await this.findAny(scope, id));
  }

  /** A deleted one, too: its page says that it was. */
  async findAny(scope: TaskScope, id: string): Promise<TaskSummary> {
    return known(isTaskId(id) ? await this.store.find(scope, id) : undefined);
  }

  /** Those of the tasks that are within the scope, in no particular order. */
  async findAll(scope: TaskScope, ids: readonly string[]): Promise<TaskSummary[]> {
    return await this.store.findAll(scope, ids);
  }

  /** Returns the task after the cancellation. */
  async cancel(scope: TaskScope, id: string): Promise<TaskSummary> {
    return kept(known(isTaskId(id) ? await this.cancelTask.cancel(scope, id) : undefined));
  }

  /** Returns the task. Throws AppError `invalid_value` like TaskStore.setFavorite. */
  async setFavorite(scope: TaskScope, id: string, isFavorite: boolean): Promise<TaskSummary> {
    const task = await this.find(scope, id);
    await this.store.setFavorite(scope, id, isFavorite);
    return task;
  }

  async view(viewer: TaskViewer, task: TaskSummary): Promise<ConsoleTaskView> {
    return await this.shown.view(viewer, task);
  }

  /** Streams the task's changes and partial images until it ends. */
  follow(viewer: TaskViewer, task: TaskSummary, reply: FastifyReply): void {
    const dataOf = () => this.latest(viewer, task);
    this.followers.stream(task, undefined, reply, { dataOf, begin: (events) => this.sendPartials(task, events) });
  }

  private sendPartials({ id, options }: TaskSummary, events: EventStream): () => void {
    if (options.partialImages === undefined) return () => undefined;
    return this.partials.listen(id, ({ index, format, base64 }) => {
      const image: PartialPictureView = { index, b64_json: base64, output_format: format };
      events.offer('partial', image);
    });
  }

  /** Reads the row again, so that the timeline and the queue position are consistent with it. */
  private async latest(viewer: TaskViewer, task: TaskSummary): Promise<ConsoleTaskView> {
    return await this.view(viewer, (await this.store.find(viewer, task.id)) ?? task);
  }
}

function kept(task: TaskSummary): TaskSummary {
  if (isDeleted(task)) throw taskDeleted(task.id);
  return task;
}

function known(task: TaskSummary | undefined): TaskSummary {
  if (task === undefined) throw new AppError('task_not_found', 'Task not found.');
  return task;
}
