import { Injectable, type PipeTransform } from '@nestjs/common';
import { ApiKeyRepository } from '#accounts/api-key.repository.js';
import { may } from '#accounts/person-rules.js';
import type { TaskScope } from '#tasks/task.js';
import { Session } from '../session.decorator.js';

/** Whose tasks somebody may see, and whether as the installation's operator. */
export interface TaskViewer extends TaskScope {
  readonly isOperator: boolean;
}

/**
 * Whose tasks somebody may see: members what they ordered in the console and what was made with keys that they created, other
 * roles all of the account. Any other task is none.
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

/** Hands a handler whose tasks its user may see. */
export const VisibleTasks = (): ParameterDecorator => Session(TaskScopePipe);
