import { Injectable, type PipeTransform } from '@nestjs/common';
import { ApiKeyRepository } from '#accounts/api-key.repository.js';
import { may } from '#accounts/person-rules.js';
import type { TaskScope } from '#tasks/row/task.js';
import { Session } from '../session.decorator.js';

/** The tasks that a user may see, and whether the user is an operator. */
export interface TaskViewer extends TaskScope {
  readonly isOperator: boolean;
}

/**
 * Members see the tasks that they ordered in the console or that their keys created; other roles see all tasks of the
 * account. Any other task is not found.
 */
@Injectable()
class TaskScopePipe implements PipeTransform<Session, Promise<TaskViewer>> {
  constructor(private readonly keys: ApiKeyRepository) {}

  async transform(session: Session): Promise<TaskViewer> {
    const { accountId, personId } = session;
    const viewer = { accountId, isOperator: may(session, 'installation.manage') };
    if (may(session, 'tasks.read_all')) return viewer;
    return { ...viewer, own: { personId, keyIds: await this.keys.idsOf(accountId, personId) } };
  }
}

/** Injects the scope of tasks that the user may see into a handler. */
export const VisibleTasks = (): ParameterDecorator => Session(TaskScopePipe);
