import { Injectable } from '@nestjs/common';
import { BudgetRepository } from '#billing/budget.repository.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { QueueWait } from '#tasks/reading/queue-wait.js';
import { TaskFigures } from '#tasks/reading/task-figures.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import type { AlertRule } from './alert-rule.repository.js';
import { budgetReading, failureReading, waitReading, type AlertReading } from './alert-words.js';

const MINUTE_MS = 60_000;

/** Current values for rules about budgets, tasks and the queue. */
@Injectable()
export class AlertReadings {
  constructor(
    private readonly budgets: BudgetRepository,
    private readonly catalog: CatalogSource,
    private readonly tasks: TaskFigures,
    private readonly wait: QueueWait,
    private readonly config: TasksConfig,
  ) {}

  /** The budgets of the account and its keys. */
  async ofBudgets({ accountId }: AlertRule): Promise<AlertReading[]> {
    const { currency } = this.catalog.current;
    const now = new Date();
    return (await this.budgets.ofAccount(accountId)).map((budget) => budgetReading(budget, currency, now));
  }

  /** The failure rate of the account's tasks, or of all accounts' tasks. */
  async ofFailures(rule: AlertRule): Promise<AlertReading[]> {
    const overall = rule.kind === 'overall_failure_rate';
    const since = new Date(Date.now() - rule.windowMinutes * MINUTE_MS);
    // A task that failed at its deadline was accepted that much earlier.
    const acceptedSince = new Date(since.getTime() - this.config.deadlineMs - MINUTE_MS);
    const account = overall ? undefined : { id: rule.accountId, acceptedSince };
    return [failureReading(await this.tasks.outcomesSince(since, account), rule, overall)];
  }

  /** The wait in the queue. Without Redis there is no prediction, and only the measured wait counts. */
  async ofQueue(): Promise<AlertReading[]> {
    const [predicted, measured] = await Promise.all([
      this.wait.predictedSeconds().catch(() => 0),
      this.tasks.oldestWaitingSeconds(),
    ]);
    return [waitReading(predicted, measured)];
  }
}
