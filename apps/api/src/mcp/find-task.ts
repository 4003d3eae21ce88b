import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import { isTaskId } from '#tasks/row/task-id.js';
import { isDeleted, taskDeleted, type TaskScope, type TaskSummary } from '#tasks/row/task.js';

/** Finds the tasks that a tool names. */
@Injectable()
export class FindTask {
  constructor(private readonly tasks: TaskStore) {}

  /**
   * Throws the same AppError `task_not_found` for an unknown task and for one that the caller may not see, and
   * `task_deleted` for a deleted one.
   */
  async named(
    scope: TaskScope,
    id: unknown,
    lookUp = (known: string): Promise<TaskSummary | undefined> => this.tasks.find(scope, known),
  ): Promise<TaskSummary> {
    if (id === undefined || id === null)
      throw new AppError('missing_required_parameter', "Missing required parameter: 'id'.", { param: 'id' });
    const found = typeof id === 'string' && isTaskId(id) ? await lookUp(id).catch(unreadable) : undefined;
    if (found === undefined) throw new AppError('task_not_found', 'Task not found.', { param: 'id' });
    if (isDeleted(found)) throw taskDeleted(found.id);
    return found;
  }
}

function unreadable(cause: unknown): never {
  throw unavailable('Tasks cannot be read right now. Please try again shortly.', { retryAfter: 2, cause });
}
