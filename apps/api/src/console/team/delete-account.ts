import { Injectable } from '@nestjs/common';
import { AccountStore, type Account } from '#accounts/account-store.js';
import { AlertEventRepository } from '#notifications/alerts/alert-event.repository.js';
import { AlertRuleRepository } from '#notifications/alerts/alert-rule.repository.js';
import { EndpointStore } from '#notifications/endpoint-store.js';
import { WebhookSecretStore } from '#notifications/secret-store.js';
import { CancelTask } from '#tasks/states/cancel-task.js';
import { TaskListStore } from '#tasks/reading/task-list-store.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import { allTasksOf } from '#tasks/row/task.js';

const PAGE = 100;

/** Deletes an account permanently. Its usage, spending and audit log stay. */
@Injectable()
export class DeleteAccount {
  constructor(
    private readonly accounts: AccountStore,
    private readonly endpoints: EndpointStore,
    private readonly secrets: WebhookSecretStore,
    private readonly alertRules: AlertRuleRepository,
    private readonly alerts: AlertEventRepository,
    private readonly tasks: TaskStore,
    private readonly lists: TaskListStore,
    private readonly cancelTask: CancelTask,
  ) {}

  /** Safe to repeat after a failure: the account is disabled first and deleted last. */
  async run({ id }: Account): Promise<void> {
    await this.accounts.setDisabled(id, true);
    await this.accounts.revokeKeys(id);
    await this.endpoints.removeAll(id);
    await this.secrets.removeAll(id);
    // Rules first: without its rule, no alert begins.
    await this.alertRules.removeAll(id);
    await this.alerts.removeAll(id);
    await this.cancelTasks(id);
    await this.tasks.forgetFavorites(id);
    await this.accounts.delete(id);
  }

  private async cancelTasks(id: string): Promise<void> {
    const all = allTasksOf(id);
    for (;;) {
      const { tasks } = await this.lists.list(all, { status: 'pending', limit: PAGE });
      if (tasks.length === 0) return;
      for (const task of tasks) await this.cancelTask.cancel(all, task.id);
    }
  }
}
