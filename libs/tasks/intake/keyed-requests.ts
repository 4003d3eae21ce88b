import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { PrismaService } from '#database/prisma.service.js';
import { TaskStore } from '../reading/task-store.js';
import type { KeyedRequest } from '../row/insert-task.sql.js';
import type { TaskCommand } from '../row/task.js';
import { attach, created, type Intake } from './attach-task.js';
import { InsertTasks } from './insert-tasks.js';

/** How long an Idempotency-Key gets the same task, in hours: the contract's, and the longest that a task may take. */
export const IDEMPOTENCY_KEY_HOURS = 24;
const HOUR_MS = 3_600_000;

/** Requests with an Idempotency-Key. Key and task are one statement, so the table of keys decides between processes. */
@Injectable()
export class KeyedRequests {
  constructor(
    private readonly prisma: PrismaService,
    private readonly inserts: InsertTasks,
    private readonly store: TaskStore,
  ) {}

  /** A new task, or the key's; undefined when that vanished before it could be read. Throws like `attachExisting`. */
  async take(command: TaskCommand, deadlineMs: number, request: KeyedRequest): Promise<Intake | undefined> {
    // A task that is held may end that much later.
    const heldMs = command.approval === undefined ? 0 : deadlineMs;
    const keptMs = IDEMPOTENCY_KEY_HOURS * HOUR_MS + heldMs;
    const task = await this.inserts.insertUnlessFound(command, deadlineMs, { request: { ...request, keptMs } });
    return task === undefined ? this.attachExisting(command, request) : created(task);
  }

  /**
   * Attaches the request to the key's task. Undefined when the key is unused or expired, or its task is gone. Throws
   * AppError `idempotency_key_reused` when the key belongs to another request.
   */
  async attachExisting(
    { accountId, own }: TaskCommand,
    { key, fingerprint }: KeyedRequest,
  ): Promise<Intake | undefined> {
    const held = await this.prisma.idempotencyKey.findUnique({
      where: { accountId_key: { accountId, key }, expiresAt: { gt: new Date() } },
    });
    if (held === null) return undefined;
    const { taskId } = held;
    // To a caller who may not see its task, the key is one that another request has used.
    const isSeen = (await this.store.within({ accountId, own }, [taskId])).has(taskId);
    if (!isSeen || !fingerprint.equals(held.fingerprint)) {
      throw new AppError('idempotency_key_reused', 'This Idempotency-Key was already used for a different request.', {
        param: 'Idempotency-Key',
      });
    }
    return attach(this.prisma, taskId);
  }
}

/** The refusal when the task of a key can't be read. */
export function keyInProgress(): AppError {
  return new AppError('idempotency_in_progress', 'Another request with this Idempotency-Key is still being accepted.', {
    param: 'Idempotency-Key',
    retryAfter: 2,
  });
}
