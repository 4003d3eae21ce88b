import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import type { TaskCost } from '#billing/quote.js';
import { costView, type CostView } from '#contract/cost-view.js';
import { EraseTasks } from '#erasure/erase-tasks.js';
import { FailedTasks } from '#tasks/reading/failed-tasks.js';
import type { TaskScope, TaskSummary } from '#tasks/row/task.js';
import { DeletedTasks } from '#tasks/states/deleted-tasks.js';
import { CancelOwnTask } from '../../tasks/cancel-own-task.js';
import { AccountTasks } from './account-tasks.js';
import { OwnTasks } from './own-tasks.js';
import { RetryFailedTasks, type NotRetried } from './retry-failed-tasks.js';
import type { ConsoleTaskFilter, TaskExportQuery } from './dto/task-query.dto.js';
import type { ConsoleTaskRow } from './dto/task-views.dto.js';
import { ImageModels } from '../../images/image-models.js';

/** Maximum rows of an export, and how long it may take. */
export const MAX_EXPORTED = 10_000;
const EXPORT_MS = 20_000;
const PAGE = 100;
/** Maximum number of pages that are searched for failed tasks without a retry, and how long that may take. */
const MAX_PAGES = 20;
const SEARCH_MS = 10_000;
/** Maximum number of tasks that a preview counts. */
const MAX_PREVIEWED = 1_000;

/** Number of tasks that a preview lists. */
const NAMED = 5;

/** A task's prompt, and the estimated cost of its retry; null = free. */
interface NamedTask {
  readonly id: string;
  readonly prompt: string;
  readonly cost: CostView | null;
}

/** The tasks of a bulk action: the named ones, or those that match a filter, newest first. */
export interface ManyTarget extends ConsoleTaskFilter {
  readonly ids: readonly string[] | undefined;
  /** Most tasks that match the filter to change, 1..100. */
  readonly limit: number;
  /** Id of the last task that was examined before. */
  readonly after?: string | undefined;
}

/** The result or preview of a bulk action. */
export interface ManyOutcome {
  readonly ids: readonly string[];
  /** The newest tasks, in a preview. */
  readonly first: readonly NamedTask[];
  readonly refused: readonly NotRetried[];
  /** Cursor of the tasks that were not examined yet; null = none. */
  readonly next: string | null;
  /** The estimated cost of all retries with a known price, in millionths; null for cancellations. */
  readonly cost: number | null;
  /** The number of retries without a price, which `cost` leaves out. */
  readonly unpriced: number;
}

/** Bulk actions on named tasks of a scope, or on those that match a filter. */
@Injectable()
export class ManyTasks {
  constructor(
    private readonly tasks: AccountTasks,
    private readonly own: OwnTasks,
    private readonly failed: FailedTasks,
    private readonly retries: RetryFailedTasks,
    private readonly models: ImageModels,
    private readonly cancelTask: CancelOwnTask,
    private readonly deletions: DeletedTasks,
    private readonly erasure: EraseTasks,
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

  /** Cancels pending tasks; `preview`: only lists them, up to 1,000. */
  async cancel(scope: TaskScope, target: ManyTarget, preview: boolean): Promise<ManyOutcome> {
    const most = preview ? MAX_PREVIEWED : target.limit;
    const { ids: pending, unknown, next } = await this.matching(scope, target, 'pending', most);
    const ids: string[] = [];
    for (const id of pending) {
      // A task that has ended meanwhile is left unchanged.
      if (preview || (await this.own.cancel(scope, id)).status === 'cancelled') ids.push(id);
    }
    const first = preview ? await this.firstOf(scope, ids, []) : [];
    return { ids, first, refused: unknown.map(notFound), next, cost: null, unpriced: 0 };
  }

  /**
   * Deletes tasks: pending ones are canceled first. Returns those that were not deleted before. Throws AppError
   * `task_not_found` when one is not in the scope, and then deletes none.
   */
  async delete(scope: TaskScope, named: readonly string[]): Promise<string[]> {
    const ids = [...new Set(named)];
    const found = await this.own.findAll(scope, ids);
    if (found.length < ids.length) throw new AppError('task_not_found', 'Task not found.');
    for (const { id, status } of found) if (status === 'pending') await this.cancelTask.cancel(scope, id);
    const deleted = await this.deletions.mark(ids);
    void this.erase(deleted);
    return deleted;
  }

  /** At once; workers do within seconds whatever fails. */
  private async erase(ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.erasure.erase(id).catch(() => false);
  }

  /** Lists failed tasks that were not retried yet, up to 1,000, with the cost of their retries. */
  async previewRetry(scope: TaskScope, target: ManyTarget): Promise<ManyOutcome> {
    const { costs, ...outcome } = await this.priced(await this.matching(scope, target, 'failed', MAX_PREVIEWED));
    return { ...outcome, first: await this.firstOf(scope, outcome.ids, costs) };
  }

  /**
   * Retries failed tasks that were not retried yet. Those that a limit of their key or account holds up are refused,
   * and can be named again.
   */
  async retry(scope: TaskScope, target: ManyTarget, requestId: string): Promise<ManyOutcome> {
    const chosen = await this.priced(await this.matching(scope, target, 'failed', target.limit));
    const { next, cost, unpriced } = chosen;
    const { retried, refused } = await this.retries.run(chosen.ids, requestId);
    const ids = retried.map(({ id }) => id);
    return { ids, first: [], refused: [...chosen.refused, ...refused], next, cost, unpriced };
  }

  /** What retrying these tasks would cost, each and together, and which of them can't be retried. */
  private async priced({ ids: open, unknown, next }: Matching) {
    const ids: string[] = [];
    const costs: (TaskCost | null)[] = [];
    const refused = unknown.map(notFound);
    let [cost, unpriced] = [0, 0];
    // Orders hold whole prompts.
    for (let from = 0; from < open.length; from += PAGE) {
      const part = await this.retries.preview(open.slice(from, from + PAGE));
      refused.push(...part.refused);
      for (const { id, model, options } of part.orders) {
        const one = this.models.costOf(model, options);
        ids.push(id);
        costs.push(one);
        cost += one?.reserved ?? 0;
        if (one?.reserved === null) unpriced++;
      }
    }
    return { ids, costs, refused, next, cost, unpriced };
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

  /** The named tasks with a status, or a number of those that match; failed ones only if they were not retried. */
  private async matching(
    scope: TaskScope,
    { ids: named, limit: _, after: begin, ...filter }: ManyTarget,
    status: 'pending' | 'failed',
    most: number,
  ): Promise<Matching> {
    if (named !== undefined) return await this.named(scope, named, status);
    const ids: string[] = [];
    const until = Date.now() + SEARCH_MS;
    let after: string | null | undefined = begin;
    for (let page = 0; page < MAX_PAGES && after !== null && ids.length < most && Date.now() < until; page++) {
      const limit = Math.min(PAGE, most - ids.length);
      const { tasks, next } = await this.tasks.find(scope, { ...filter, status, limit, after });
      const found = tasks.map(({ id }) => id);
      const orders = status === 'failed' ? await this.failed.orders(found) : undefined;
      ids.push(...found.filter((id) => orders === undefined || orders.get(id)?.retriedAs === null));
      after = next;
    }
    return { ids, unknown: [], next: after ?? null };
  }

  /** Named tasks that have ended otherwise are left out: what was asked of them has happened, or can't any more. */
  private async named(scope: TaskScope, named: readonly string[], status: 'pending' | 'failed'): Promise<Matching> {
    const found = new Map<string, TaskSummary>();
    for (let from = 0; from < named.length; from += PAGE) {
      for (const task of await this.own.findAll(scope, named.slice(from, from + PAGE))) found.set(task.id, task);
    }
    const ids = [...new Set(named)];
    return {
      ids: ids.filter((id) => found.get(id)?.status === status),
      unknown: ids.filter((id) => !found.has(id)),
      next: null,
    };
  }
}

/** Tasks to change, tasks that the scope does not have, and where to continue. */
interface Matching {
  readonly ids: readonly string[];
  readonly unknown: readonly string[];
  readonly next: string | null;
}

function notFound(id: string): NotRetried {
  return { id, reason: new AppError('task_not_found', 'Task not found.') };
}
