import { Injectable } from '@nestjs/common';
import { unavailable } from '#contract/unavailable.js';
import type { TaskCost } from '#billing/quote.js';
import { costView, type CostView } from '#contract/cost-view.js';
import { FailedTasks } from '#tasks/reading/failed-tasks.js';
import type { TaskScope } from '#tasks/row/task.js';
import { AccountTasks } from './account-tasks.js';
import { OwnTasks } from './own-tasks.js';
import { RetryFailedTasks, type NotRetried } from './retry-failed-tasks.js';
import type { ConsoleTaskFilter, TaskExportQuery } from './dto/task-query.dto.js';
import type { ConsoleTaskRow } from './dto/task-views.dto.js';
import { ImageModels } from '../../images/image-models.js';

/** Maximum number of tasks that one bulk action changes. */
const MAX_AT_ONCE = 100;
/** Maximum rows of an export, and how long it may take. */
export const MAX_EXPORTED = 10_000;
const EXPORT_MS = 20_000;
const PAGE = 100;
/** Maximum number of pages that are searched for failed tasks without a retry. */
const MAX_PAGES = 20;

/** Number of tasks that a preview lists. */
const NAMED = 5;

/** A task's prompt, and the estimated cost of its retry; null = free. */
interface NamedTask {
  readonly id: string;
  readonly prompt: string;
  readonly cost: CostView | null;
}

/** The result or preview of a bulk action. */
export interface ManyOutcome {
  readonly ids: readonly string[];
  /** The newest tasks, in a preview. */
  readonly first: readonly NamedTask[];
  readonly refused: readonly NotRetried[];
  /** More tasks match. */
  readonly hasMore: boolean;
  /** The estimated cost of all retries with a known price, in millionths; null for cancellations. */
  readonly cost: number | null;
  /** The number of retries without a price, which `cost` leaves out. */
  readonly unpriced: number;
}

/** Bulk actions on the tasks of a scope that match a filter, newest first. */
@Injectable()
export class ManyTasks {
  constructor(
    private readonly tasks: AccountTasks,
    private readonly own: OwnTasks,
    private readonly failed: FailedTasks,
    private readonly retries: RetryFailedTasks,
    private readonly models: ImageModels,
  ) {}

  /** Returns at most the newest rows. Throws AppError `server_is_overloaded` when a search takes too long. */
  async export(scope: TaskScope, filter: TaskExportQuery): Promise<ConsoleTaskRow[]> {
    const rows: ConsoleTaskRow[] = [];
    const until = Date.now() + EXPORT_MS;
    for (let after: string | null | undefined; after !== null && rows.length < MAX_EXPORTED;) {
      if (Date.now() > until) {
        throw unavailable('This takes too long. Choose a shorter time range and try again.');
      }
      const page = await this.tasks.list(scope, { ...filter, limit: PAGE, after });
      rows.push(...page.data);
      after = page.next;
    }
    return rows.slice(0, MAX_EXPORTED);
  }

  /** Cancels pending tasks; `preview`: only lists them. */
  async cancel(scope: TaskScope, filter: ConsoleTaskFilter, preview: boolean): Promise<ManyOutcome> {
    const { tasks, next } = await this.tasks.find(scope, { ...filter, status: 'pending', limit: MAX_AT_ONCE });
    const ids: string[] = [];
    for (const { id } of tasks) {
      // A task that has ended meanwhile is left unchanged.
      if (preview || (await this.own.cancel(scope, id)).status === 'cancelled') ids.push(id);
    }
    const first = preview ? await this.firstOf(scope, ids, []) : [];
    return { ids, first, refused: [], hasMore: next !== null, cost: null, unpriced: 0 };
  }

  /** Retries failed tasks that were not retried yet; `preview`: only lists them, with their cost. */
  async retry(scope: TaskScope, filter: ConsoleTaskFilter, preview: boolean, requestId: string): Promise<ManyOutcome> {
    const { ids: open, hasMore } = await this.openFailures(scope, filter);
    const { orders, refused } = await this.retries.preview(open);
    const costs = orders.map(({ model, options }) => this.models.costOf(model, options));
    const cost = costs.reduce((sum, one) => sum + (one?.reserved ?? 0), 0);
    const unpriced = costs.filter((one) => one?.reserved === null).length;
    const ids = orders.map(({ id }) => id);
    if (preview) return { ids, first: await this.firstOf(scope, ids, costs), refused, hasMore, cost, unpriced };
    const done = await this.retries.run(ids, requestId);
    const retried = done.retried.map(({ id }) => id);
    return { ids: retried, first: [], refused: [...refused, ...done.refused], hasMore, cost, unpriced };
  }

  /** The first tasks with their costs; `costs` has the same order as `ids`. */
  private async firstOf(
    { accountId }: TaskScope,
    ids: readonly string[],
    costs: readonly (TaskCost | null)[],
  ): Promise<NamedTask[]> {
    const prompts = await this.tasks.prompts(accountId, ids.slice(0, NAMED));
    return prompts.map((task, index) => {
      const cost = costs[index] ?? null;
      return { ...task, cost: cost && costView('pending', cost) };
    });
  }

  private async openFailures(scope: TaskScope, filter: ConsoleTaskFilter) {
    const open: string[] = [];
    let after: string | null | undefined;
    for (let page = 0; page < MAX_PAGES && after !== null && open.length <= MAX_AT_ONCE; page++) {
      const { tasks, next } = await this.tasks.find(scope, { ...filter, status: 'failed', limit: PAGE, after });
      const ids = tasks.map(({ id }) => id);
      const orders = await this.failed.orders(ids);
      open.push(...ids.filter((id) => orders.get(id)?.retriedAs === null));
      after = next;
    }
    return { ids: open.slice(0, MAX_AT_ONCE), hasMore: open.length > MAX_AT_ONCE || typeof after === 'string' };
  }
}
