import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { inTransaction } from '#database/queryable.js';
import { PrismaService } from '#database/prisma.service.js';
import { refusalOf } from '#billing/budget-refusal.js';
import { LostCallers } from './lost-callers.js';
import { toTask } from '../row/task-columns.js';
import type { ProviderCall } from '../row/provider-call.js';
import {
  FAILURE_REPEATED_MS,
  insertTasks,
  readTasks,
  takeUndelivered,
  type AttachingRequest,
  type KeyedRequest,
} from '../row/task.sql.js';
import { TaskStore } from '../reading/task-store.js';
import type { Task, TaskCommand } from '../row/task.js';
import { TasksConfig } from '../row/tasks.config.js';

/** What marks a request as a possible repetition of an earlier one. */
export type RequestMark =
  /** The caller's own Idempotency-Key. */
  | { readonly kind: 'key'; readonly key: string }
  /**
   * A call without a key, which its client may retry silently. `retry`: the tries before this one, as OpenAI's SDKs
   * count them in `x-stainless-retry-count`; 0 for clients that do not count (`counted` false).
   */
  | { readonly kind: 'attempt'; readonly retry: number; readonly counted: boolean };

/**
 * A mark with the SHA-256 of the normalized path and body. Requests that count their tries and those that do not have
 * different fingerprints.
 */
export type RequestIdentity = RequestMark & { readonly fingerprint: Buffer };

/** Tries to get the task that a request repeats: it may vanish before it is read, but hardly several times in a row. */
const TRIES = 3;
/** Most tasks of equal requests to check: the same request may have failed many times within a minute. */
const MAX_CANDIDATES = 100;

const HOUR_MS = 3_600_000;

/** The task of a request: a new one, or (`attached`) the one that an earlier try of the same request made. */
export interface Intake {
  readonly task: Task;
  readonly attached: boolean;
}

/**
 * Inserts tasks, except that a request that repeats another one gets that one's task instead of making a second.
 * The database decides, so this holds for parallel calls at any number of processes.
 */
@Injectable()
export class TaskIntake {
  constructor(
    private readonly prisma: PrismaService,
    private readonly store: TaskStore,
    private readonly config: TasksConfig,
    private readonly lost: LostCallers,
  ) {}

  /**
   * Once this returns, the task is sure to end.
   * Throws AppError: `idempotency_key_reused` when the key belongs to another request, `idempotency_in_progress` when
   * it belongs to a task that can't be read; `insufficient_quota` and `model_not_allowed` when a budget forbids it;
   * `already_exists` when the failed task that it retries was retried before.
   */
  async take(command: TaskCommand, deadlineMs: number, identity?: RequestIdentity): Promise<Intake> {
    return this.takeOnce(command, deadlineMs, identity).catch((error: unknown) => {
      throw refusalOf(error) ?? retriedAlready(error) ?? this.left(command, identity, error);
    });
  }

  /** After an error, nobody waits for a task that the request may have attached to. */
  private left({ requestId }: TaskCommand, identity: RequestIdentity | undefined, error: unknown): unknown {
    if (identity?.kind === 'attempt') this.store.abandonAttached(identity.fingerprint, requestId);
    return error;
  }

  private async takeOnce(command: TaskCommand, deadlineMs: number, identity?: RequestIdentity): Promise<Intake> {
    for (let tries = 0; tries < TRIES; tries++) {
      const taken = await this.tryTake(command, deadlineMs, identity);
      if (taken !== undefined) return taken;
    }
    if (identity?.kind === 'key') throw unreadable();
    return made(await this.store.insert(command, deadlineMs, identity?.fingerprint, this.waiterOf(command)));
  }

  /** Undefined when the task that the request repeats vanished before it could be read. */
  private async tryTake(
    command: TaskCommand,
    deadlineMs: number,
    identity: RequestIdentity | undefined,
  ): Promise<Intake | undefined> {
    if (identity?.kind === 'key') return this.takeKeyed(command, deadlineMs, identity);
    if (identity !== undefined && identity.retry > 0) {
      return this.takeRetried(command, deadlineMs, identity.fingerprint);
    }
    if (identity !== undefined) return this.takeFirst(command, deadlineMs, identity.fingerprint);
    return made(await this.store.insert(command, deadlineMs));
  }

  /** The existing task that the request repeats, if any. Throws like `take`. */
  async find(command: TaskCommand, identity: RequestIdentity | undefined): Promise<Intake | undefined> {
    if (identity === undefined) return undefined;
    if (identity.kind === 'key') return this.findKeyed(command, identity);
    return this.findEqual(command, identity.retry, identity.fingerprint).catch((error: unknown) => {
      throw this.left(command, identity, error);
    });
  }

  private async findEqual(command: TaskCommand, retry: number, fingerprint: Buffer): Promise<Intake | undefined> {
    await this.store.settleAbandoned(fingerprint);
    if (retry === 0) return this.takeLeft(command, fingerprint);
    const id = await takeUndelivered(this.prisma.pool, this.attaching(command, fingerprint));
    return id === undefined ? undefined : this.attach(id);
  }

  /**
   * The first try of a call. It checks callers of equal requests at other processes only if there are any, because that
   * takes another statement and a Redis command.
   */
  private async takeFirst(command: TaskCommand, deadlineMs: number, fingerprint: Buffer): Promise<Intake | undefined> {
    await this.store.settleAbandoned(fingerprint);
    const waiter = this.waiterOf(command);
    const wanted = { fingerprint, attachWindowMs: this.config.attachWindowMs, waiter };
    const task = await this.store.insertUnlessFound(command, deadlineMs, { ...wanted, unlessAwayFrom: waiter ?? '' });
    if (task !== undefined) return made(task);
    const left = await this.takeLeft(command, fingerprint);
    if (left !== undefined) return left;
    const another = await this.store.insertUnlessFound(command, deadlineMs, wanted);
    return another && made(another);
  }

  private async takeLeft(command: TaskCommand, fingerprint: Buffer): Promise<Intake | undefined> {
    const abandoned = await this.takeAbandoned(command, fingerprint);
    if (abandoned !== undefined || !(await this.lost.markEqual(command.apiKeyId, fingerprint))) return abandoned;
    return this.takeAbandoned(command, fingerprint);
  }

  /** The process at which the caller waits; undefined when it does not wait. */
  private waiterOf({ asynchronous }: TaskCommand): string | undefined {
    return asynchronous ? undefined : this.lost.waiter;
  }

  private attaching(command: TaskCommand, fingerprint: Buffer): AttachingRequest {
    const { apiKeyId, requestId } = command;
    return { fingerprint, apiKeyId, requestId, waiter: this.waiterOf(command) };
  }

  /**
   * An equal request's task: the one that was abandoned last, or else one whose failure may have been charged;
   * insertTasks uses the same rule. Of several simultaneous requests, one gets an abandoned task.
   */
  private async takeAbandoned(command: TaskCommand, fingerprint: Buffer): Promise<Intake | undefined> {
    const { apiKeyId, requestId } = command;
    const waiter = this.waiterOf(command) ?? null;
    const now = (await this.prisma.now()).getTime();
    const found = await this.prisma.task.findMany({
      where: {
        ...{ fingerprint: new Uint8Array(fingerprint), apiKeyId },
        OR: [
          {
            abandonedAt: { gt: new Date(now - this.config.attachWindowMs) },
            deliveredAt: null,
            status: { in: ['pending', 'completed'] },
          },
          { status: 'failed', finishedAt: { gt: new Date(now - FAILURE_REPEATED_MS) } },
        ],
      },
      select: { id: true, status: true, abandonedAt: true, calls: true },
      orderBy: [{ abandonedAt: { sort: 'desc', nulls: 'last' } }, { createdAt: 'desc' }, { id: 'desc' }],
      take: MAX_CANDIDATES,
    });
    for (const { id, status, abandonedAt, calls } of found) {
      if (status === 'failed' && !wasCharged((calls as unknown as readonly ProviderCall[]).at(-1))) continue;
      const { count } = await this.prisma.task.updateMany({
        where: { id, abandonedAt },
        data: { abandonedAt: null, attachedBy: requestId, waiter },
      });
      if (count === 1) return this.attach(id);
    }
    return undefined;
  }

  /**
   * Marks a queued task as wanted, so that RetractTasks leaves it alone; false if it was marked before, claimed, or
   * deleted. Writes a time that came from the database, because claims compare it with the database's clock.
   */
  async adopt({ id, createdAt }: Pick<Task, 'id' | 'createdAt'>): Promise<boolean> {
    const { count } = await this.prisma.task.updateMany({
      where: { id, phase: 'queued', nextTryAt: null },
      data: { nextTryAt: createdAt },
    });
    return count === 1;
  }

  /** Undefined if RetractTasks has just deleted the row, which it never does once a worker has held it. */
  private async attach(id: string): Promise<Intake | undefined> {
    const [row] = await readTasks(this.prisma.pool, [id], false);
    if (row === undefined) return undefined;
    const task = toTask(row);
    if (row.phase !== 'queued' || row.wanted || (await this.adopt(task))) return { task, attached: true };
    const [again] = await readTasks(this.prisma.pool, [id], false);
    return again && { task: toTask(again), attached: true };
  }

  private async takeKeyed(
    command: TaskCommand,
    deadlineMs: number,
    request: KeyedRequest,
  ): Promise<Intake | undefined> {
    const keptMs = Math.max(this.config.idempotencyKeyRetentionHours * HOUR_MS, deadlineMs);
    const task = await this.store.insertUnlessFound(command, deadlineMs, { request: { ...request, keptMs } });
    return task === undefined ? this.findKeyed(command, request) : made(task);
  }

  /** Undefined when the key is unused or expired, or its task is gone. */
  private async findKeyed(
    { accountId, own }: TaskCommand,
    { key, fingerprint }: KeyedRequest,
  ): Promise<Intake | undefined> {
    const lease = await this.prisma.idempotencyKey.findUnique({
      where: { accountId_key: { accountId, key }, expiresAt: { gt: new Date() } },
    });
    if (lease === null) return undefined;
    const { taskId } = lease;
    // To a caller who may not see its task, the key is one that another request has used.
    const isSeen = (await this.store.within({ accountId, own }, [taskId])).has(taskId);
    if (!isSeen || !fingerprint.equals(lease.fingerprint)) {
      throw new AppError('idempotency_key_reused', 'This Idempotency-Key was already used for a different request.', {
        param: 'Idempotency-Key',
      });
    }
    return this.attach(taskId);
  }

  /**
   * Serializes retries of one request, because a later one must see an earlier one's row. Has its own connection: with
   * one of Prisma's, the insert would need a second one, from a pool that retries may have exhausted.
   */
  private async takeRetried(
    command: TaskCommand,
    deadlineMs: number,
    fingerprint: Buffer,
  ): Promise<Intake | undefined> {
    const wanted = this.attaching(command, fingerprint);
    const taken = await inTransaction(this.prisma.pool, async (client) => {
      const earlier = (await takeUndelivered(client, wanted)) ?? (await takeUndelivered(client, wanted));
      const [row] = earlier === undefined ? await insertTasks(client, [{ command, deadlineMs, ...wanted }]) : [];
      return { earlier, row };
    });
    if (taken.earlier !== undefined) return this.attach(taken.earlier);
    return taken.row && made(toTask(taken.row));
  }
}

/** Whether a failed call was, or may have been, charged. */
function wasCharged(call: ProviderCall | undefined): boolean {
  return call !== undefined && !call.free && (call.charged ?? 'maybe') !== 'no';
}

function made(task: Task): Intake {
  return { task, attached: false };
}

/** The refusal for an insert that failed because the task it retries was retried before; undefined for other errors. */
function retriedAlready(error: unknown): AppError | undefined {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  if (code !== '23505' || constraint !== 'tasks_redrive_of_key') return undefined;
  return new AppError('already_exists', 'It was already retried.');
}

function unreadable(): AppError {
  return new AppError('idempotency_in_progress', 'Another request with this Idempotency-Key is still being accepted.', {
    param: 'Idempotency-Key',
    retryAfter: 2,
  });
}
