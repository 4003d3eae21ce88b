import { Injectable } from '@nestjs/common';
import { WaitingTasks } from '#answers/waiting-tasks.js';
import { EndUserStates } from '#accounts/end-user-states.js';
import { SafetyNotices } from '#accounts/safety-notices.repository.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import type { AlertRule } from '#notifications/alerts/alert-rule.repository.js';
import {
  approvalReading,
  budgetReading,
  endUserReading,
  failureReading,
  unmatchedReading,
  waitReading,
  webhookReading,
  type AlertReading,
} from '#notifications/alerts/alert-words.js';
import { DeliveryRecords } from '#notifications/deliveries/delivery-records.js';
import { EndpointStore, shownUrl } from '#notifications/endpoint-store.js';
import { APPROVAL_HOURS } from '#tasks/admission/approval.js';
import { HeldTasks } from '#tasks/reading/held-tasks.js';
import { QueueWait } from '#tasks/reading/queue-wait.js';
import { TaskFigures } from '#tasks/reading/task-figures.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { ProviderReadings } from './provider-readings.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Most end users, or notices, that are alerts of their own at once. */
const MAX_SUBJECTS = 100;

/** Current values for the rules of each kind. */
@Injectable()
export class AlertReadings {
  constructor(
    private readonly budgets: BudgetRepository,
    private readonly catalog: CatalogSource,
    private readonly tasks: TaskFigures,
    private readonly wait: QueueWait,
    private readonly waiting: WaitingTasks,
    private readonly providers: ProviderReadings,
    private readonly endpoints: EndpointStore,
    private readonly records: DeliveryRecords,
    private readonly config: TasksConfig,
    private readonly held: HeldTasks,
    private readonly endUsers: EndUserStates,
    private readonly notices: SafetyNotices,
  ) {}

  /** One value for each subject of the rule. Rejects when the database, or Redis for providers, does not answer. */
  async of(rule: AlertRule): Promise<AlertReading[]> {
    switch (rule.kind) {
      case 'budget':
        return await this.ofBudgets(rule);
      case 'webhook_failing':
        return await this.ofWebhooks(rule);
      case 'approval_waiting':
        return [approvalReading(await this.held.figures(rule.accountId), APPROVAL_HOURS)];
      case 'end_user_abuse':
        return (await this.endUsers.causedSince(rule.accountId, aDayAgo(), MAX_SUBJECTS)).map(endUserReading);
      case 'unmatched_notice':
        return (await this.notices.unmatchedSince(aDayAgo(), MAX_SUBJECTS)).map(unmatchedReading);
      case 'provider_down':
        return await this.providers.read();
      case 'queue_wait':
        return await this.ofQueue();
      case 'failure_rate':
      case 'overall_failure_rate':
        return await this.ofFailures(rule);
    }
  }

  /** The budgets of the account and its keys. */
  private async ofBudgets({ accountId }: AlertRule): Promise<AlertReading[]> {
    const { currency } = this.catalog.current;
    const now = new Date();
    return (await this.budgets.ofAccount(accountId)).map((budget) => budgetReading(budget, currency, now));
  }

  /** The failure rate of the account's tasks, or of all accounts' tasks. */
  private async ofFailures(rule: AlertRule): Promise<AlertReading[]> {
    const overall = rule.kind === 'overall_failure_rate';
    const since = new Date(Date.now() - rule.windowMinutes * MINUTE_MS);
    // A task that failed at its deadline was accepted that much earlier.
    const acceptedSince = new Date(since.getTime() - this.config.deadlineMs - MINUTE_MS);
    const account = overall ? undefined : { id: rule.accountId, acceptedSince };
    return [failureReading(await this.tasks.outcomesSince(since, account), rule, overall)];
  }

  /** The account's endpoints that are on. */
  private async ofWebhooks({ accountId }: AlertRule): Promise<AlertReading[]> {
    const endpoints = (await this.endpoints.list(accountId)).filter(({ disabledAt }) => disabledAt === null);
    const failing = endpoints.filter(({ failingSince }) => failingSince !== null).map(({ id }) => id);
    const records = failing.length === 0 ? [] : await this.records.ofEndpoints(accountId, failing);
    return endpoints.map(({ id, url, failingSince }) => {
      const { delivered = 0, failed = 0, retrying = 0 } = records.find(({ endpointId }) => endpointId === id) ?? {};
      const undelivered = { count: failed + retrying, of: delivered + failed + retrying };
      return webhookReading({ id, address: shownUrl(url), failingSince, undelivered });
    });
  }

  /** The wait in the queue. Without Redis there is no prediction, and only the measured wait counts. */
  private async ofQueue(): Promise<AlertReading[]> {
    const [predicted, groups] = await Promise.all([this.wait.predictedSeconds().catch(() => 0), this.waiting.groups()]);
    return [waitReading(predicted, groups)];
  }
}

/** How long a changed state is news. */
function aDayAgo(): Date {
  return new Date(Date.now() - DAY_MS);
}
