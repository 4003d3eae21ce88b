import { Injectable } from '@nestjs/common';
import { BudgetRepository } from '#billing/budget.repository.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import type { AlertRule } from '#notifications/alerts/alert-rule.repository.js';
import {
  budgetReading,
  failureReading,
  providerReading,
  waitReading,
  webhookReading,
  type AlertReading,
} from '#notifications/alerts/alert-words.js';
import { DeliveryRecords } from '#notifications/deliveries/delivery-records.js';
import { EndpointStore, shownUrl } from '#notifications/endpoint-store.js';
import { serverId } from '#providers/provider-entry.js';
import { LimiterState } from '#routing/limiter-state.js';
import { ProviderSwitches } from '#routing/provider-switches.js';
import { QueueWait } from '#tasks/reading/queue-wait.js';
import { TaskFigures } from '#tasks/reading/task-figures.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';

const MINUTE_MS = 60_000;

/** Current values for the rules of each kind. */
@Injectable()
export class AlertReadings {
  constructor(
    private readonly budgets: BudgetRepository,
    private readonly catalog: CatalogSource,
    private readonly tasks: TaskFigures,
    private readonly wait: QueueWait,
    private readonly limiter: LimiterState,
    private readonly switches: ProviderSwitches,
    private readonly endpoints: EndpointStore,
    private readonly records: DeliveryRecords,
    private readonly config: TasksConfig,
  ) {}

  /** One value for each subject of the rule. Rejects when the database, or Redis for providers, does not answer. */
  async of(rule: AlertRule): Promise<AlertReading[]> {
    switch (rule.kind) {
      case 'budget':
        return await this.ofBudgets(rule);
      case 'webhook_failing':
        return await this.ofWebhooks(rule);
      case 'provider_down':
        return await this.ofProviders();
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
    const [predicted, measured] = await Promise.all([
      this.wait.predictedSeconds().catch(() => 0),
      this.tasks.oldestWaitingSeconds(),
    ]);
    return [waitReading(predicted, measured)];
  }

  /** Whether the servers of providers that models use are down; skips drained ones. */
  private async ofProviders(): Promise<AlertReading[]> {
    const drained = new Set((await this.switches.list()).map(({ provider }) => provider));
    const used = [...this.modelsByProvider()].flatMap(([name, models]) => {
      const servers = drained.has(name) ? [] : (this.catalog.current.providers.get(name)?.servers ?? []);
      return servers.map((server) => [serverId(server), models] as const).filter(([id]) => !drained.has(id));
    });
    if (used.length === 0) return [];
    const states = await this.limiter.statesOf(used.map(([id]) => id));
    // Half-open counts as down: it has failed, and no call has succeeded since.
    return used.map(([id, models], index) => providerReading(id, models, states[index]?.breaker !== 'closed'));
  }

  private modelsByProvider(): Map<string, string[]> {
    const { models } = this.catalog.current;
    const found = new Map<string, string[]>();
    for (const { name, ranks } of models.values()) {
      for (const provider of new Set(ranks.flat().map((route) => route.provider))) {
        found.set(provider, [...(found.get(provider) ?? []), name]);
      }
    }
    return found;
  }
}
