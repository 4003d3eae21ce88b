import { Injectable, type PipeTransform } from '@nestjs/common';
import { may } from '#accounts/person-rules.js';
import { TaskRights } from '#accounts/task-rights.js';
import type { TaskScope } from '#tasks/row/task.js';
import { Session } from '../session.decorator.js';

/** The tasks that a user may see, and what of them. */
export interface TaskViewer extends TaskScope {
  readonly isOperator: boolean;
  /** Whether they see whole webhook URLs, whose query may contain tokens. */
  readonly managesWebhooks: boolean;
}

/**
 * Members see the tasks that they ordered in the console or that their keys created; other roles see all tasks of the
 * account. Any other task is not found.
 */
@Injectable()
class TaskScopePipe implements PipeTransform<Session, Promise<TaskViewer>> {
  constructor(private readonly rights: TaskRights) {}

  async transform(session: Session): Promise<TaskViewer> {
    const { accountId } = session;
    const isOperator = may(session, 'installation.manage');
    const managesWebhooks = may(session, 'webhooks.manage');
    return { accountId, own: await this.rights.ofPerson(session), isOperator, managesWebhooks };
  }
}

/** Injects the scope of tasks that the user may see into a handler. */
export const VisibleTasks = (): ParameterDecorator => Session(TaskScopePipe);
