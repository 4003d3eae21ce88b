import { Injectable } from '@nestjs/common';
import DataLoader from 'dataloader';
import { PrismaService } from '#database/prisma.service.js';
import { insertTask } from './insert-task.js';
import { SUMMARY_COLUMNS, TASK_COLUMNS, toSummary, toTask, type SummaryRow, type TaskRow } from './task-columns.js';
import type { Task, TaskCommand, TaskHistory, TaskSummary } from './task.js';
import type { TaskStatus } from './task-status.js';

export interface TaskListQuery {
  /** 1..100 */
  readonly limit: number;
  /** Id of the last task of the page before. */
  readonly after?: string | undefined;
  readonly status?: TaskStatus | undefined;
  /** Only tasks created at this time or later. */
  readonly since?: Date | undefined;
  readonly model?: string | undefined;
  readonly apiKeyId?: string | undefined;
}

/** A task that was just cancelled, and where its job and its place among its key's tasks are. */
interface CancelledTask {
  readonly task: TaskSummary;
  readonly epoch: number;
  readonly apiKeyId: string;
}

const FIND = {
  name: 'task_find',
  text: `SELECT ${SUMMARY_COLUMNS}, account_id FROM tasks WHERE id = ANY($1) AND account_id = ANY($2)`,
};
const FINISHED = {
  name: 'task_finished',
  text: `SELECT ${TASK_COLUMNS} FROM tasks WHERE id = ANY($1) AND status <> 'pending'`,
};

/** More would make one caller wait for many others. */
const FINDS_AT_ONCE = 50;

const LOOK = { name: 'task_look', text: `SELECT ${SUMMARY_COLUMNS} FROM tasks WHERE id = ANY($1)` };
const FIND_ALL = {
  name: 'task_find_all',
  text: `SELECT ${SUMMARY_COLUMNS} FROM tasks WHERE id = ANY($1) AND account_id = $2`,
};
// Between two claims only a parked task has a phase other than queued: its provider works on.
const HISTORY = {
  name: 'task_history',
  text: `SELECT status, created_at AS "createdAt", started_at AS "startedAt", finished_at AS "finishedAt", calls,
      status = 'pending' AND phase <> 'queued' AND provider_call_open AS "callRuns"
    FROM tasks WHERE id = $1 AND account_id = $2`,
};
// An open provider call stays open: its outcome is never learned, which is what the owner is told (see TaskLinks).
const CANCEL = {
  name: 'task_cancel',
  text: `UPDATE tasks SET status = 'cancelled', phase = 'done', finished_at = now(), lease_until = NULL, lease_owner = NULL
    WHERE id = $1 AND account_id = $2 AND status = 'pending' RETURNING ${SUMMARY_COLUMNS}, epoch, api_key_id`,
};

/**
 * What callers read and write of the tasks table; the worker's moves are in task-moves.ts.
 * Hand-written statements on the same pool as Prisma: these run once or more per request, and Prisma costs them
 * 60 % of their rate. Every query on behalf of a caller names the account.
 */
@Injectable()
export class TaskStore {
  /** Polls that arrive at one moment share a query: its way through the driver costs more than the rows. */
  private readonly finds: DataLoader<{ accountId: string; id: string }, TaskSummary | undefined>;

  constructor(private readonly prisma: PrismaService) {
    this.finds = new DataLoader((wanted) => this.findTogether(wanted), {
      cache: false,
      maxBatchSize: FINDS_AT_ONCE,
      // By then all that has come in over other connections meanwhile is asked for, too.
      batchScheduleFn: setImmediate,
    });
  }

  /** Accepts the task: once this returns, it will end. The fingerprint lets a retry find it (TaskIntake). */
  async insert(command: TaskCommand, deadlineMs: number, fingerprint: Buffer | null = null): Promise<Task> {
    const { rows } = await this.prisma.pool.query<TaskRow>(insertTask(command, deadlineMs, fingerprint));
    return toTask(rows[0] as TaskRow);
  }

  async find(accountId: string, id: string): Promise<TaskSummary | undefined> {
    return this.finds.load({ accountId, id });
  }

  /** What has happened to the account's task so far; undefined when it has none of that id. */
  async history(accountId: string, id: string): Promise<TaskHistory | undefined> {
    const { rows } = await this.prisma.pool.query<TaskHistory>({ ...HISTORY, values: [id, accountId] });
    return rows[0];
  }

  /** Those of the tasks that are the account's, in no order. */
  async findAll(accountId: string, ids: readonly string[]): Promise<TaskSummary[]> {
    const { rows } = await this.prisma.pool.query<SummaryRow>({ ...FIND_ALL, values: [ids, accountId] });
    return rows.map(toSummary);
  }

  /** The tasks as they are now; for watchers, which know only ids of their own callers. */
  async look(ids: readonly string[]): Promise<TaskSummary[]> {
    const { rows } = await this.prisma.pool.query<SummaryRow>({ ...LOOK, values: [ids] });
    return rows.map(toSummary);
  }

  private async findTogether(
    wanted: readonly { accountId: string; id: string }[],
  ): Promise<(TaskSummary | undefined)[]> {
    const { rows } = await this.prisma.pool.query<SummaryRow & { account_id: string }>({
      ...FIND,
      values: [wanted.map(({ id }) => id), [...new Set(wanted.map(({ accountId }) => accountId))]],
    });
    const found = new Map(rows.map((row) => [row.id, row]));
    return wanted.map(({ accountId, id }) => {
      const row = found.get(id);
      return row?.account_id === accountId ? toSummary(row) : undefined;
    });
  }

  /** Ends a pending task; undefined when it has ended already or is not the account's. `epoch` names its job. */
  async cancel(accountId: string, id: string): Promise<CancelledTask | undefined> {
    const { rows } = await this.prisma.pool.query<SummaryRow & { epoch: number; api_key_id: string }>({
      ...CANCEL,
      values: [id, accountId],
    });
    return rows[0] && { task: toSummary(rows[0]), epoch: rows[0].epoch, apiKeyId: rows[0].api_key_id };
  }

  /** Those of the tasks that have ended; for waiters, which know only ids of their own callers. */
  async finished(ids: readonly string[]): Promise<Task[]> {
    const { rows } = await this.prisma.pool.query<TaskRow>({ ...FINISHED, values: [ids] });
    return rows.map(toTask);
  }

  /** One page of the account's tasks, newest first. An unknown `after` gives an empty page. */
  async list(accountId: string, query: TaskListQuery): Promise<{ tasks: TaskSummary[]; hasMore: boolean }> {
    const { rows } = await this.prisma.pool.query<SummaryRow>({
      name: 'task_list',
      text: `SELECT ${SUMMARY_COLUMNS} FROM tasks
        WHERE account_id = $1
          AND ($2::text IS NULL OR (created_at, id) <
            (SELECT created_at, id FROM tasks WHERE id = $2 AND account_id = $1))
          AND ($3::text IS NULL OR status = $3)
          AND ($4::timestamptz IS NULL OR created_at >= $4)
          AND ($6::text IS NULL OR model = $6)
          AND ($7::text IS NULL OR api_key_id = $7)
        ORDER BY created_at DESC, id DESC LIMIT $5`,
      values: [
        ...[accountId, query.after ?? null, query.status ?? null, query.since ?? null, query.limit + 1],
        ...[query.model ?? null, query.apiKeyId ?? null],
      ],
    });
    return { tasks: rows.slice(0, query.limit).map(toSummary), hasMore: rows.length > query.limit };
  }
}
