import { Injectable } from '@nestjs/common';
import type { TaskView } from '#contract/task-view.js';
import type { QueuePosition } from '#queue/fair-order.js';
import { TaskEstimates } from '#tasks/admission/task-estimates.js';
import type { TaskSummary } from '#tasks/row/task.js';
import { TaskLinks } from './task-links.js';
import { WaitingTasks } from './waiting-tasks.js';

/** Tasks as callers of the API see them: waiting ones with their positions, and with estimates that know of pauses. */
@Injectable()
export class TaskViews {
  constructor(
    private readonly links: TaskLinks,
    private readonly estimates: TaskEstimates,
    private readonly waiting: WaitingTasks,
  ) {}

  /** With two Redis commands for all, none if no task waits. */
  async of(tasks: readonly TaskSummary[]): Promise<TaskView[]> {
    const [positions, held] = await Promise.all([this.estimates.positions(tasks), this.heldOf(tasks)]);
    return tasks.map((task) => this.links.view(task, positions.get(task.id), held.get(task.id)));
  }

  /** Like `of`, for one task whose position, if it has one, is given. */
  async one(task: TaskSummary, position?: QueuePosition): Promise<TaskView> {
    return this.links.view(task, position, (await this.heldOf([task])).get(task.id));
  }

  /** For the waiting tasks, how long no provider may be called for them. */
  private async heldOf(tasks: readonly TaskSummary[]): Promise<ReadonlyMap<string, number | null>> {
    const waiting = tasks.filter(({ underway, phase }) => underway !== null && phase === 'queued');
    const held = await this.waiting.heldMs(
      waiting.map(({ model, action, options: { n, onlyProvider, region, outputFormat } }) => ({
        ...{ model, n, onlyProvider, region, retryAt: null },
        ...{ images: action === 'edit' ? 1 : 0, mask: false, svg: outputFormat === 'svg' },
      })),
    );
    return new Map(waiting.map(({ id }, index) => [id, held[index] ?? 0]));
  }
}
