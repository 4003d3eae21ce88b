import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { PrismaService } from '#database/prisma.service.js';
import { refusalOf } from '#billing/budget-refusal.js';
import { insertKeyedTask, insertTask, redrivenAlready } from './insert-task.js';
import type { RequestIdentity } from './request-identity.js';
import { TASK_COLUMNS, toTask, type TaskRow } from './task-columns.js';
import { TaskStore } from './task-store.js';
import type { Task, TaskCommand } from './task.js';

/** A key that is taken but has expired when it is read is tried again; more than once is no accident. */
const TRIES = 3;

/** Whether the row is marked already as one that somebody waits for. */
const WANTED = 'next_try_at IS NOT NULL AS wanted';
const FIND_KEYED = {
  name: 'task_find_keyed',
  text: `SELECT held_fingerprint, ${TASK_COLUMNS}, ${WANTED} FROM (
      SELECT fingerprint AS held_fingerprint, task_id AS held_id FROM idempotency_keys
      WHERE account_id = $1 AND key = $2 AND expires_at > now()) AS held
    LEFT JOIN tasks ON id = held_id`,
};
const FIND_UNDELIVERED = {
  name: 'task_find_undelivered',
  text: `SELECT ${TASK_COLUMNS}, ${WANTED} FROM tasks
    WHERE fingerprint = $1 AND api_key_id = $2 AND delivered_at IS NULL AND created_at > now() - interval '15 minutes'
    ORDER BY created_at DESC, id DESC LIMIT 1`,
};

const FIND_ONE = { name: 'task_find_one', text: `SELECT ${TASK_COLUMNS} FROM tasks WHERE id = $1` };
/** From now on somebody waits for it, so RetractTasks leaves it alone; no row: it was just taken back. */
const ADOPT = {
  name: 'task_adopt',
  text: `UPDATE tasks SET next_try_at = now() WHERE id = $1 AND phase = 'queued' AND next_try_at IS NULL`,
};

type Queryable = Pick<PrismaService['pool'], 'query'>;
type FoundRow = TaskRow & { wanted: boolean };
type HeldRow = { held_fingerprint: Buffer } & (FoundRow | { id: null });

/** The task of a request: a new one, or the one that an earlier try of the same request has made. */
export interface Intake {
  readonly task: Task;
  readonly attached: boolean;
}

/**
 * The door to the tasks table: a request that repeats another one gets that one's task, and never makes a second.
 * The database decides, so it holds for parallel calls at any number of processes.
 */
@Injectable()
export class TaskIntake {
  constructor(
    private readonly prisma: PrismaService,
    private readonly store: TaskStore,
  ) {}

  /**
   * Once this returns, the task will end.
   * Throws AppError: `idempotency_key_reused` when the key stands for another request, `idempotency_in_progress` when
   * it stands for a task that can't be read; `insufficient_quota` and `model_not_allowed` when a budget forbids it;
   * `already_exists` when the failed task that it repeats was repeated before.
   */
  async take(command: TaskCommand, deadlineMs: number, identity?: RequestIdentity): Promise<Intake> {
    return this.takeOnce(command, deadlineMs, identity).catch((error: unknown) => {
      throw refusalOf(error) ?? redrivenAlready(error) ?? error;
    });
  }

  private async takeOnce(command: TaskCommand, deadlineMs: number, identity?: RequestIdentity): Promise<Intake> {
    if (identity?.kind === 'key') return this.takeKeyed(command, deadlineMs, identity);
    if (identity !== undefined && identity.retry > 0)
      return this.takeRetried(command, deadlineMs, identity.fingerprint);
    return made(await this.store.insert(command, deadlineMs, identity?.fingerprint));
  }

  /** The task that the request repeats, if it repeats one. Throws like `take`. */
  async find(command: TaskCommand, identity: RequestIdentity | undefined): Promise<Intake | undefined> {
    if (identity?.kind === 'key') return this.findKeyed(command, identity);
    if (identity === undefined || identity.retry === 0) return undefined;
    const { rows } = await this.prisma.pool.query<FoundRow>({
      ...FIND_UNDELIVERED,
      values: [identity.fingerprint, command.apiKeyId],
    });
    return rows[0] && this.attach(rows[0]);
  }

  /** Says that somebody waits for a task that no worker has; false when that was said before, or it is gone or taken. */
  async adopt(id: string, database: Queryable = this.prisma.pool): Promise<boolean> {
    return (await database.query({ ...ADOPT, values: [id] })).rowCount === 1;
  }

  /** Undefined when the row was taken back just now. A row that a worker has, or had, stays. */
  private async attach(row: FoundRow, database: Queryable = this.prisma.pool): Promise<Intake | undefined> {
    if (row.phase === 'queued' && !row.wanted && !(await this.adopt(row.id, database))) {
      const { rows } = await database.query<TaskRow>({ ...FIND_ONE, values: [row.id] });
      return rows[0] && { task: toTask(rows[0]), attached: true };
    }
    return { task: toTask(row), attached: true };
  }

  private async takeKeyed(
    command: TaskCommand,
    deadlineMs: number,
    identity: RequestIdentity & { kind: 'key' },
  ): Promise<Intake> {
    for (let tries = 0; tries < TRIES; tries++) {
      const { rows } = await this.prisma.pool.query<TaskRow>(insertKeyedTask(command, deadlineMs, identity));
      if (rows[0] !== undefined) return made(toTask(rows[0]));
      const found = await this.findKeyed(command, identity);
      if (found !== undefined) return found;
    }
    throw unreadable();
  }

  private async findKeyed(
    command: TaskCommand,
    identity: RequestIdentity & { kind: 'key' },
  ): Promise<Intake | undefined> {
    const { rows } = await this.prisma.pool.query<HeldRow>({
      ...FIND_KEYED,
      values: [command.accountId, identity.key],
    });
    const row = rows[0];
    if (row === undefined) return undefined;
    if (!row.held_fingerprint.equals(identity.fingerprint)) {
      throw new AppError('idempotency_key_reused', 'This Idempotency-Key was used for another request.', {
        param: 'Idempotency-Key',
      });
    }
    if (row.id === null) throw unreadable();
    return this.attach(row);
  }

  /** Retries of one request come in one after the other, because the later one must see what the earlier one made. */
  private async takeRetried(command: TaskCommand, deadlineMs: number, fingerprint: Buffer): Promise<Intake> {
    const client = await this.prisma.pool.connect();
    let failure: Error | undefined;
    try {
      await client.query('BEGIN');
      await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
        `${command.apiKeyId} ${fingerprint.toString('hex')}`,
      ]);
      const found = await client.query<FoundRow>({ ...FIND_UNDELIVERED, values: [fingerprint, command.apiKeyId] });
      const intake =
        (found.rows[0] && (await this.attach(found.rows[0], client))) ??
        made(toTask((await client.query<TaskRow>(insertTask(command, deadlineMs, fingerprint))).rows[0] as TaskRow));
      await client.query('COMMIT');
      return intake;
    } catch (error) {
      failure = error instanceof Error ? error : new Error('the transaction failed');
      throw error;
    } finally {
      // A connection in the middle of a transaction must not go back to the pool.
      client.release(failure);
    }
  }
}

function made(task: Task): Intake {
  return { task, attached: false };
}

function unreadable(): AppError {
  return new AppError('idempotency_in_progress', 'Another request with this Idempotency-Key is still being accepted.', {
    param: 'Idempotency-Key',
    retryAfter: 2,
  });
}
