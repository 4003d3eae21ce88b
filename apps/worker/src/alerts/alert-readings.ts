import { Injectable } from '@nestjs/common';
import { WaitingTasks } from '#answers/waiting-tasks.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import type { AlertRule } from '#notifications/alerts/alert-rule.repository.js';
import {
  budgetReading,
  failureReading,
  providerReading,
  waitReading,
  type AlertReading,
} from '#notifications/alerts/alert-words.js';
import { serverId } from '#providers/provider-entry.js';
import { CallHistory, totalsOf, type CallCount } from '#routing/call-history.js';
import { LimiterState } from '#routing/limiter-state.js';
import { ProviderSwitches } from '#routing/provider-switches.js';
import { RoutingConfig } from '#routing/routing.config.js';
import { QueueWait } from '#tasks/reading/queue-wait.js';
import { TaskFigures } from '#tasks/reading/task-figures.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';

const MINUTE_MS = 60_000;
/** The minutes whose calls say whether a provider is down. */
const PROVIDER_MINUTES = 10;

/** Current values for the rules of each kind. */
@Injectable()
export class AlertReadings {
  constructor(
    private readonly budgets: BudgetRepository,
    private readonly catalog: CatalogSource,
    private readonly tasks: TaskFigures,
    private readonly wait: QueueWait,
    private readonly waiting: WaitingTasks,
    private readonly limiter: LimiterState,
    private readonly history: CallHistory,
    private readonly routing: RoutingConfig,
    private readonly switches: ProviderSwitches,
    private readonly config: TasksConfig,
  ) {}

  /** One value for each subject of the rule. Rejects when the database, or Redis for providers, does not answer. */
  async of(rule: AlertRule): Promise<AlertReading[]> {
    switch (rule.kind) {
      case 'budget':
        return await this.ofBudgets(rule);
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

  /** The wait in the queue. Without Redis there is no prediction, and only the measured wait counts. */
  private async ofQueue(): Promise<AlertReading[]> {
    const [predicted, groups] = await Promise.all([this.wait.predictedSeconds().catch(() => 0), this.waiting.groups()]);
    return [waitReading(predicted, groups)];
  }

  /** Whether the servers of providers that models use are down; skips drained ones. */
  private async ofProviders(): Promise<AlertReading[]> {
    const drained = new Set((await this.switches.list()).map(({ provider }) => provider));
    const used = [...this.modelsByProvider()].flatMap(([name, models]) => {
      const servers = drained.has(name) ? [] : (this.catalog.current.providers.get(name)?.servers ?? []);
      return servers.map((server) => [serverId(server), models] as const).filter(([id]) => !drained.has(id));
    });
    if (used.length === 0) return [];
    const [states, history] = await Promise.all([this.limiter.statesOf(used.map(([id]) => id)), this.history.read([])]);
    const counts = history.minutes.slice(-PROVIDER_MINUTES).flatMap((minute) => minute.counts);
    return used.map(([id, models], index) => {
      // Rate limits are no outage, and what was rejected or canceled says nothing.
      const { succeeded, failed, rateLimited } = totalsOf(counts.filter((count) => idOf(count) === id));
      const calls = {
        calls: succeeded + failed - rateLimited,
        failed: failed - rateLimited,
        minutes: PROVIDER_MINUTES,
      };
      // Half-open counts as down: it has failed, and no call has succeeded since.
      const isPaused = states[index]?.breaker !== 'closed';
      return providerReading(id, models, { ...calls, isPaused, manyFailures: this.routing.failures });
    });
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

/** The id of the server that was called. */
function idOf({ provider: name, server }: CallCount): string {
  return serverId({ name, server });
}
