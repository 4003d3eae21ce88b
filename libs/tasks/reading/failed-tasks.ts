import { Injectable } from '@nestjs/common';
import { approvalThresholds, withKey, type ApprovalThresholds } from '../admission/approval-thresholds.js';
import { errorKind, isErrorCode } from '#contract/error-codes.js';
import { JSON_PATH_MISSING, definedFields, inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { failedWith, NO_CODE } from '../row/failed-with.js';
import { failureGroups, type FailureGroup, type FailureGroups } from '../row/sweep.sql.js';
import { ORDER_COLUMNS, toError, toOrder } from '../row/task-columns.js';
import type { TaskOrder } from '../row/task.js';

/** A failed task of any account, without its prompt, which only its owner may see. */
export interface FailedTask {
  readonly id: string;
  readonly accountId: string;
  readonly accountName: string;
  readonly keyId: string;
  readonly keyName: string;
  readonly finishedAt: Date;
  readonly message: string;
  /** The task that it was retried as. */
  readonly retriedAs: string | null;
}

/** The order of a failed task, and everything that decides whether it can be retried. */
export interface FailedOrder extends TaskOrder {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly originalKeyId: string;
  /** Person who ordered it in the console. */
  readonly orderedBy: string | null;
  readonly weight: number;
  readonly tasksInFlight: number | null;
  readonly submitsPerMinute: number | null;
  /** What requests of its key and account may cost without an approval. */
  readonly approvals: ApprovalThresholds;
  readonly accountWeight: number;
  readonly accountTasksInFlight: number | null;
  readonly accountSubmitsPerMinute: number | null;
  /** Models that the key may use; empty means all. */
  readonly models: readonly string[];
  /** What the key may be used for; empty means everything. */
  readonly scopes: readonly string[];
  readonly code: string;
  readonly callbackUrl: string | null;
  readonly asynchronous: boolean;
  readonly retriedAs: string | null;
  readonly accountDisabled: boolean;
  /** Revoked or expired. */
  readonly keyEnded: boolean;
}

interface FailurePage extends Pick<FailureGroup, 'code' | 'provider' | 'model'> {
  /** True: only provider tests; otherwise none. */
  readonly providerTest?: boolean;
  readonly since: Date;
  readonly limit: number;
  /** Id of the last task of the page before. */
  readonly after?: string | undefined;
  /** Only those that were not retried yet. */
  readonly open?: boolean;
}

interface FailedTaskPage {
  readonly tasks: FailedTask[];
  readonly hasMore: boolean;
}

/** A place among the failures. */
interface Place {
  readonly id: string;
  readonly finishedAt: Date | null;
}

interface FailedRow extends Place {
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly error: unknown;
}

interface FoundFailure extends FailedRow {
  readonly retriedAs: string | null;
}

/** Failures of callers' own tasks that were not deleted, without operators' provider tests. */
const FAILED = {
  status: 'failed',
  deletedAt: null,
  options: { path: ['onlyProvider'], equals: JSON_PATH_MISSING },
} as const;
const FAILED_TEST = {
  status: 'failed',
  deletedAt: null,
  options: { path: ['onlyProvider'], not: JSON_PATH_MISSING },
} as const;
const KEY_COLUMNS = {
  id: true,
  name: true,
  weight: true,
  models: true,
  scopes: true,
  tasksInFlight: true,
  submitsPerMinute: true,
  expiresAt: true,
  revokedAt: true,
  originalKeyId: true,
  approveAboveMicros: true,
  account: {
    select: {
      ...{ weight: true, tasksInFlight: true, submitsPerMinute: true, disabledAt: true },
      ...{ approveAboveMicros: true, ownApproveAboveMicros: true, tagApprovals: true },
    },
  },
} as const;
/** Rows to read at a time when only those that were not retried are wanted. */
const BATCH = 200;

/** Most failures of one account to examine. */
const MAX_OPEN = 1_000;
/** No task takes longer to fail: it waits for its approval for a day, and runs for a day. */
const LONGEST_TASK_MS = 2 * 86_400_000;

/** Whether a task that failed with this code may succeed when it is retried. */
export function isWorthRetrying(code: string): boolean {
  // An error of class 400 lies in the request itself, which would be the same.
  return isErrorCode(code) && errorKind(code).status >= 500;
}

/** The failed tasks of all accounts, for operators. */
@Injectable()
export class FailedTasks {
  constructor(private readonly prisma: PrismaService) {}

  /** The newest 5,000 (or `most`) failures since a time, by kind, latest kind first. */
  async groups(since: Date, most?: number): Promise<FailureGroups> {
    return await failureGroups(this.prisma.pool, since, most);
  }

  /** One page of the failures of a kind, newest first. An unknown `after` gives an empty page. */
  async page({ after: afterId, limit, open = false, ...query }: FailurePage): Promise<FailedTaskPage> {
    const found: FoundFailure[] = [];
    let after = afterId === undefined ? undefined : await this.placeOf(afterId);
    if (after === null) return { tasks: [], hasMore: false };
    const take = open ? Math.max(BATCH, limit + 1) : limit + 1;
    for (let more = true; more && found.length <= limit;) {
      const rows = await this.rows(query, after, take);
      const again = await this.retriedAs(rows.map(({ id }) => id));
      found.push(
        ...rows
          .map((row) => ({ ...row, retriedAs: again.get(row.id) ?? null }))
          .filter((row) => !open || row.retriedAs === null),
      );
      after = rows.at(-1);
      more = rows.length === take;
    }
    return { tasks: await this.named(found.slice(0, limit)), hasMore: found.length > limit };
  }

  /**
   * How many of an account's newest 1,000 failures since a time can be retried. A task that was retried no longer
   * counts, however the retry ended: a failed retry is a failed task itself.
   */
  async countOpen(accountId: string, since: Date): Promise<number> {
    const rows = await this.prisma.task.findMany({
      where: {
        ...FAILED,
        accountId,
        finishedAt: { gte: since },
        // The account's index is ordered by this time.
        createdAt: { gte: new Date(since.getTime() - LONGEST_TASK_MS) },
      },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      take: MAX_OPEN,
      select: { id: true, error: true },
    });
    const ids = rows.filter(({ error }) => isWorthRetrying(codeOf(error))).map(({ id }) => id);
    return ids.length - (await this.retriedAs(ids)).size;
  }

  /** The orders of the failed ones among these tasks, by task id. */
  async orders(ids: readonly string[]): Promise<Map<string, FailedOrder>> {
    const tasks = await this.prisma.task.findMany({
      where: { id: { in: inList(ids) }, ...FAILED },
      select: {
        ...ORDER_COLUMNS,
        id: true,
        accountId: true,
        apiKeyId: true,
        callbackUrl: true,
        asynchronous: true,
        error: true,
        orderedBy: true,
      },
    });
    const [again, keys] = await Promise.all([this.retriedAs(ids), this.keys(tasks)]);
    const now = Date.now();
    const orders = tasks.flatMap((task): FailedOrder[] => {
      const key = keys.get(task.apiKeyId);
      if (key === undefined) return [];
      const { id, accountId, apiKeyId, orderedBy, callbackUrl, asynchronous } = task;
      const { account, weight, models, scopes, tasksInFlight, submitsPerMinute, expiresAt } = key;
      return [
        {
          ...toOrder(task),
          id,
          accountId,
          apiKeyId,
          orderedBy,
          callbackUrl,
          asynchronous,
          originalKeyId: key.originalKeyId ?? apiKeyId,
          code: codeOf(task.error),
          retriedAs: again.get(id) ?? null,
          weight,
          models,
          scopes,
          tasksInFlight,
          submitsPerMinute,
          approvals: withKey(approvalThresholds(account), key),
          accountWeight: account.weight,
          accountTasksInFlight: account.tasksInFlight,
          accountSubmitsPerMinute: account.submitsPerMinute,
          accountDisabled: account.disabledAt !== null,
          keyEnded: key.revokedAt !== null || (expiresAt !== null && expiresAt.getTime() <= now),
        },
      ];
    });
    return new Map(orders.map((order) => [order.id, order]));
  }

  private async rows(
    { since, code, provider, model, providerTest = false }: Omit<FailurePage, 'limit' | 'after' | 'open'>,
    after: Place | undefined,
    take: number,
  ): Promise<FailedRow[]> {
    const { task } = this.prisma;
    return await task.findMany({
      where: {
        ...(providerTest ? FAILED_TEST : FAILED),
        provider,
        model,
        finishedAt: { gte: since, ...definedFields({ lte: after?.finishedAt ?? undefined }) },
        AND: failedWith(code),
        // The same bound as `finishedAt` above, which is the form that an index can start from.
        ...(after && { NOT: { finishedAt: after.finishedAt, id: { gte: after.id } } }),
      },
      orderBy: [{ finishedAt: 'desc' }, { id: 'desc' }],
      take,
      select: { id: true, accountId: true, apiKeyId: true, finishedAt: true, error: true },
    });
  }

  private async placeOf(id: string): Promise<Place | null> {
    const where = { id, finishedAt: { not: null } };
    return await this.prisma.task.findUnique({ where, select: { id: true, finishedAt: true } });
  }

  /** Ids of retries, by the id of the failed task. */
  private async retriedAs(ids: readonly string[]): Promise<ReadonlyMap<string | null, string>> {
    const where = { retryOf: { in: inList(ids) } };
    const again = await this.prisma.task.findMany({ where, select: { id: true, retryOf: true } });
    return new Map(again.map(({ id, retryOf }) => [retryOf, id]));
  }

  private async keys(tasks: readonly Pick<FailedRow, 'apiKeyId'>[]) {
    const ids = [...new Set(tasks.map(({ apiKeyId }) => apiKeyId))];
    const keys = await this.prisma.apiKey.findMany({ where: { id: { in: inList(ids) } }, select: KEY_COLUMNS });
    return new Map(keys.map((key) => [key.id, key]));
  }

  private async named(rows: readonly FoundFailure[]): Promise<FailedTask[]> {
    const accountIds = [...new Set(rows.map(({ accountId }) => accountId))];
    const [keys, accounts] = await Promise.all([
      this.keys(rows),
      this.prisma.account.findMany({ where: { id: { in: inList(accountIds) } }, select: { id: true, name: true } }),
    ]);
    const names = new Map(accounts.map(({ id, name }) => [id, name]));
    return rows.map(({ id, accountId, apiKeyId: keyId, finishedAt, error, retriedAs }) => ({
      id,
      accountId,
      accountName: names.get(accountId) ?? '',
      keyId,
      keyName: keys.get(keyId)?.name ?? '',
      finishedAt: finishedAt ?? new Date(0),
      message: toError(error)?.message ?? '',
      retriedAs,
    }));
  }
}

function codeOf(error: unknown): string {
  return toError(error)?.code ?? NO_CODE;
}
